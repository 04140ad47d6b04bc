/** One server that attempts are made at, and the route to the next if it cannot be connected to. */
import type { LookupFunction } from "node:net";
import { guardedLookup } from "../credentials/index.ts";
import type { ForwardProxies } from "../forward-proxy/index.ts";
import type { HttpClient } from "./http/index.ts";
import type { PickerAnswer } from "./picker/answers.ts";

export interface Server {
  readonly client: Pick<HttpClient, "dispatch">;
  /**
   * Resolves names for connections that the client does not open; `undefined` to use the system's resolver for the origin's
   * host.
   */
  readonly lookup: LookupFunction | undefined;
  /** Proxies for connections that the client does not open; `undefined` for a server that is always reached directly. */
  readonly proxies: ForwardProxies | undefined;
  /** Records the start of an attempt. Each is followed by one `ended`. */
  begun(): void;
  connected(): void;
  /** Records a failed connect: nothing was sent. `cause` is its error. */
  unreachable(cause: unknown): void;
  ended(): void;
}

/** Servers for one attempt, or for all attempts at one origin. */
export interface Route {
  readonly kind: "route";
  /**
   * Returns the next server. `failed` is the server of this route that could not be connected to. Returns `undefined` if none
   * is left.
   */
  next(failed: Server | undefined): Server | undefined;
  /** Reason why there is no server, to follow a colon; `undefined` if there is nothing to add. */
  readonly whyNone: string | undefined;
  /** Model that the pool's picker selected; `undefined` to keep the requested one. */
  readonly model?: string | undefined;
  /** `undefined` if nothing observes the attempt. */
  readonly watch?: Watch | undefined;
}

/** Reports the result to the picker that chose the server. */
export interface Watch {
  answered(status: number, contentType: string | undefined, server: Server): void;
  /** May be called repeatedly; the first call counts. `isCut` is true if the answer is no longer wanted. */
  ended(isCut: boolean): void;
  /** Called when the request is withdrawn before any of its answer has come. One listener. */
  onEvicted(listener: (answer: PickerAnswer) => void): void;
}

export type Routed =
  | Route
  /** The pool's picker reports that the pool takes no request: its answer is the request's. */
  | { readonly kind: "answered"; readonly answer: PickerAnswer };

/** Returns the route of an origin with a single server. */
export function loneRoute(client: Server["client"], proxies: ForwardProxies): Route {
  const nothing = (): void => undefined;
  const server: Server = {
    client,
    lookup: guardedLookup,
    proxies,
    begun: nothing,
    connected: nothing,
    unreachable: nothing,
    ended: nothing,
  };
  return { kind: "route", next: (failed) => (failed === undefined ? server : undefined), whyNone: undefined };
}
