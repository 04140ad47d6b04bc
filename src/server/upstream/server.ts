/** One server that attempts can be made at, and the way from one that cannot be connected to, to the next. */
import type { LookupFunction } from "node:net";
import { guardedLookup } from "../credentials/index.ts";
import type { ForwardProxies } from "../forward-proxy/index.ts";
import type { HttpClient } from "./http/index.ts";
import type { PickerAnswer } from "./picker/answers.ts";

export interface Server {
  readonly client: Pick<HttpClient, "dispatch">;
  /** For connections that the client does not make; undefined: as the system resolves the origin's host. */
  readonly lookup: LookupFunction | undefined;
  /** For connections that the client does not make; `undefined` for a server that is always reached directly. */
  readonly proxies: ForwardProxies | undefined;
  /** An attempt is made at it. Each is followed by one `ended`. */
  begun(): void;
  connected(): void;
  /** It could not be connected to: nothing was sent. `cause`: what the connect failed with. */
  unreachable(cause: unknown): void;
  ended(): void;
}

/** Of one attempt, or of one origin for all of them. */
export interface Route {
  readonly kind: "route";
  /** `failed`: the server, given by this route, that could not be connected to. Undefined: there is none left. */
  next(failed: Server | undefined): Server | undefined;
  /** Why there is none, to stand behind a colon; undefined: there is nothing to say. */
  readonly whyNone: string | undefined;
  /** The model that the pool's picker has the request ask for; undefined: the one it asks for. */
  readonly model?: string | undefined;
  /** Undefined: nobody wants to know. */
  readonly watch?: Watch | undefined;
}

/** Who chose the server hears how it went. */
export interface Watch {
  answered(status: number, contentType: string | undefined, server: Server): void;
  /** Once or more; the first counts. `isCut`: the answer is not wanted any more. */
  ended(isCut: boolean): void;
  /** The request is taken back; nothing of its answer has come. One listener. */
  onEvicted(listener: (answer: PickerAnswer) => void): void;
}

export type Routed =
  | Route
  /** The pool's picker says that the pool takes no request: its answer is the request's. */
  | { readonly kind: "answered"; readonly answer: PickerAnswer };

/** Of an origin: it stands alone. */
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
