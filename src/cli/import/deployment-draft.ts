/** Draft of a deployment, in the terms that the readers of all systems share. */

import type { Path } from "../../server/core/config/index.ts";
import type { Variables } from "./credential-references.ts";
import type { ForeignSource } from "./foreign-source.ts";

/** Input of a reader. */
export interface ReaderInput {
  readonly source: ForeignSource;
  readonly variables: Variables;
  /** Presets that the operator named, by provider name of the source. */
  readonly presets: ReadonlyMap<string, string>;
}

/** How an upstream is reached. Equal endpoints become one provider. */
export interface Endpoint {
  /** Name of the provider if it is free. */
  readonly label: string;
  readonly preset?: string | undefined;
  readonly dialect?: "compat" | "messages" | undefined;
  readonly baseUrl?: string | undefined;
  readonly region?: string | undefined;
  /** Reference to the key. */
  readonly apiKey?: string | undefined;
  readonly cloudsig?: Readonly<Record<string, string>> | undefined;
  readonly retry?: Readonly<Record<string, string | number>> | undefined;
  /** Timeout until the first byte, in milliseconds. */
  readonly timeoutMs?: number | undefined;
}

export interface Step {
  readonly endpoint: Endpoint;
  /** Model name to send to the upstream; `undefined` to send the requested name. */
  readonly model: string | undefined;
  readonly line: number;
  /** Object of the source that describes the upstream. */
  readonly unit: Path;
}

/** Model name that clients can request. The first step serves it, and the others are its failover. */
export interface Route {
  /**
   * Model name, prefix that ends in `*`, or `*` for every name without a route. `undefined` if nothing is routed to the
   * upstreams until somebody adds their models.
   */
  readonly name: string | undefined;
  readonly steps: readonly Step[];
  readonly at: number;
  readonly path: readonly (string | number)[];
}

export type Entry = Readonly<Record<string, unknown>>;

export interface Draft {
  readonly routes: readonly Route[];
  /** Whether callers need keys of the gateway. */
  readonly auth?: boolean | undefined;
  readonly maxBodyBytes?: number | undefined;
  readonly budgets?: readonly Entry[] | undefined;
  /**
   * Creates the profiles once providers have names. `namesOf` returns the names of the providers that were made from
   * endpoints with a label.
   */
  readonly profiles?: ((namesOf: (label: string) => readonly string[]) => readonly Entry[]) | undefined;
  readonly mcp?: readonly Entry[] | undefined;
  readonly detectors?: readonly Entry[] | undefined;
  readonly rules?: readonly Entry[] | undefined;
  /** Whether a detector rewrites answers and needs their whole text. */
  readonly holdsStreams?: boolean | undefined;
}
