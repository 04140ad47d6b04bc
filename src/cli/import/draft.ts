/** What the readers of foreign configurations make: a deployment in the terms that all of them share. */

import type { Path } from "../../server/core/config/index.ts";
import type { Variables } from "./keys.ts";
import type { Foreign } from "./source.ts";

/** What a reader is given. */
export interface Reading {
  readonly foreign: Foreign;
  readonly variables: Variables;
  /** Names of providers of the source, with the preset that the operator says each is. */
  readonly presets: ReadonlyMap<string, string>;
}

/** How one upstream is reached. Two that are equal in all of this are one provider. */
export interface Endpoint {
  /** What the provider is called where the name is free. */
  readonly label: string;
  readonly preset?: string | undefined;
  readonly dialect?: "compat" | "messages" | undefined;
  readonly baseUrl?: string | undefined;
  readonly region?: string | undefined;
  /** A reference. */
  readonly apiKey?: string | undefined;
  readonly cloudsig?: Readonly<Record<string, string>> | undefined;
  readonly retry?: Readonly<Record<string, string | number>> | undefined;
  /** Milliseconds. */
  readonly timeoutMs?: number | undefined;
}

export interface Step {
  readonly endpoint: Endpoint;
  /** What the upstream is asked for; undefined: what the client asked for. */
  readonly model: string | undefined;
  readonly line: number;
  /** Object of the source that describes the upstream. */
  readonly unit: Path;
}

/** A name that clients ask for, and who serves it: the first, then whom it fails over to. */
export interface Route {
  /**
   * A model name, or a prefix that ends in `*`; `*` alone is whatever no other route names. Undefined: nothing is routed to
   * the upstreams until somebody names their models.
   */
  readonly name: string | undefined;
  readonly steps: readonly Step[];
  readonly at: number;
  readonly path: readonly (string | number)[];
}

export type Entry = Readonly<Record<string, unknown>>;

export interface Draft {
  readonly routes: readonly Route[];
  /** Where callers need keys of the gateway's. */
  readonly auth?: boolean | undefined;
  readonly maxBodyBytes?: number | undefined;
  readonly budgets?: readonly Entry[] | undefined;
  /** Made when providers have their names: `namesOf` gives those that came of an endpoint's label. */
  readonly profiles?: ((namesOf: (label: string) => readonly string[]) => readonly Entry[]) | undefined;
  readonly mcp?: readonly Entry[] | undefined;
  readonly detectors?: readonly Entry[] | undefined;
  readonly rules?: readonly Entry[] | undefined;
  /** What is found in answers is rewritten by a detector that needs their end. */
  readonly holdsStreams?: boolean | undefined;
}
