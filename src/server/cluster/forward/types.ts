/** Requests between nodes, and from a command line to a node, over the forward listener. */

import type { Log } from "../../../base/index.ts";
import type { Identity, Peer } from "../identity/index.ts";
import type { DialFailure, Hello, ListenerStats, SelfDescription, Timing } from "../wire/index.ts";

export type RequestKind = "propose" | "join" | "rejoin" | "prune" | "status";

export interface ForwardRequest {
  readonly kind: RequestKind;
  /** Header: any JSON value, as parsed. */
  readonly header: unknown;
  readonly body: Uint8Array;
  /** Peer that the certificate names. */
  readonly peer: Peer;
}

export type ForwardAnswer =
  | { readonly kind: "result"; readonly header: unknown; readonly body?: Uint8Array }
  | { readonly kind: "error"; readonly code: string; readonly message: string; readonly details?: unknown };

export interface ForwardOptions {
  /** Listen address. */
  readonly listen: string;
  readonly identity: Identity;
  /** Facts about this node, which are read again at each hello, so that getters may return new values. */
  readonly self: SelfDescription;
  refusalCodeFor(hello: Hello, peer: Peer): string | undefined;
  /**
   * Answers a request. `signal` aborts when the caller no longer waits. A rejection is logged and answered as `internal`, without
   * its text.
   */
  onRequest(request: ForwardRequest, signal: AbortSignal): Promise<ForwardAnswer>;
  readonly log: Log;
  readonly timing?: Timing;
}

export interface ForwardServer {
  /** Bound address as `host:port`. */
  readonly address: string;
  stats(): ListenerStats;
  /** Aborts running requests and closes the listener. */
  close(): Promise<void>;
}

export type ForwardReply =
  | { readonly kind: "result"; readonly header: unknown; readonly body: Uint8Array }
  | { readonly kind: "error"; readonly code: string; readonly message: string; readonly details: unknown }
  /** The request was certainly not sent: there is no link, for the reason in `failure` and `code`. */
  | {
      readonly kind: "unreachable";
      readonly failure: DialFailure;
      readonly code: string;
      readonly message: string;
    }
  /** The request was certainly not sent: too many are outstanding on the link. */
  | { readonly kind: "busy" }
  /** The request was sent but not answered, so it may have taken effect. */
  | { readonly kind: "unknown"; readonly message: string };

interface Outgoing {
  readonly kind: RequestKind;
  /** Header: any JSON value, at most 64 KiB as text. */
  readonly header: unknown;
  /** Body of at most 2 MiB. */
  readonly body?: Uint8Array;
}

export interface ForwardClient {
  /** Sends a request. Rejects with the signal's reason, or with a `RangeError` if it is too large; everything else is a reply. */
  request(
    address: string,
    outgoing: Outgoing,
    limits: { readonly timeoutMs: number; readonly signal?: AbortSignal },
  ): Promise<ForwardReply>;
  /** Ends outstanding requests as `unknown` or `unreachable`. */
  close(): void;
}
