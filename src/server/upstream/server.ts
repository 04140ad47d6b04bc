/** Defines a server that attempts are made at, and the route to the next one if it cannot be connected to. */
import type { LookupFunction } from "node:net";
import { guardedLookup } from "../credentials/index.ts";
import type { ForwardProxies } from "../forward-proxy/index.ts";
import type { HttpClient } from "./http/index.ts";
import type { PickerAnswer } from "./picker/picker-answers.ts";

export interface Server {
  readonly client: Pick<HttpClient, "dispatch">;
  /** Resolves names for connections that the HTTP client does not open itself; `undefined` for the system's resolver. */
  readonly lookup: LookupFunction | undefined;
  /**
   * Proxies for connections that the HTTP client does not open itself; `undefined` for a server that is always reached directly.
   */
  readonly proxies: ForwardProxies | undefined;
  /** Records the start of an attempt. Each call is followed by one call of `endAttempt`. */
  beginAttempt(): void;
  recordConnect(): void;
  /** Records a failed connect, in which nothing was sent. `cause`: its error. */
  recordConnectFailure(cause: unknown): void;
  endAttempt(): void;
}

/** Servers for one attempt, or for all attempts at one origin. */
export interface Route {
  readonly kind: "route";
  /**
   * Returns the next server, or `undefined` if none is left. `failed`: the server of this route that could not be connected to.
   */
  next(failed: Server | undefined): Server | undefined;
  /** Reason why there is no server, used after a colon; `undefined` if there is nothing to add. */
  readonly noServerReason: string | undefined;
  /** Model that the pool's picker selected; `undefined` to keep the requested one. */
  readonly model?: string | undefined;
  /** Observer of the attempt; `undefined` if there is none. */
  readonly feedback?: PickerFeedback | undefined;
}

/** Observer that reports the result to the picker that chose the server. */
export interface PickerFeedback {
  reportAnswer(status: number, contentType: string | undefined, server: Server): void;
  /** Ends the observation; further calls have no effect. `isAborted`: the answer is no longer wanted. */
  end(isAborted: boolean): void;
  /** Registers the only listener. It is called when the request is withdrawn before any of its answer has come. */
  onEvicted(listener: (answer: PickerAnswer) => void): void;
}

export type Routed =
  | Route
  /** The pool takes no request according to its picker, whose answer becomes the request's. */
  | { readonly kind: "answered"; readonly answer: PickerAnswer };

/** Returns the route of an origin with a single server. */
export function singleServerRoute(client: Server["client"], proxies: ForwardProxies): Route {
  const nothing = (): void => undefined;
  const server: Server = {
    client,
    lookup: guardedLookup,
    proxies,
    beginAttempt: nothing,
    recordConnect: nothing,
    recordConnectFailure: nothing,
    endAttempt: nothing,
  };
  return { kind: "route", next: (failed) => (failed === undefined ? server : undefined), noServerReason: undefined };
}
