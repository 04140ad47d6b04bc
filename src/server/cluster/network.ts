/**
 * The network as a replica uses it: consensus messages and snapshots to members by id, requests to any node by address.
 */

import type { Message } from "../core/raft/index.ts";
import type { SnapshotRecord } from "./storage/index.ts";

/**
 * Kind of a request over the forward listener. On the wire, `remove` and `transfer` are a `prune` that names them, and `read` is
 * a `status`.
 */
export type NetworkRequestKind = "propose" | "join" | "rejoin" | "prune" | "remove" | "transfer" | "status" | "read";

export interface NetworkRequest {
  readonly kind: NetworkRequestKind;
  /** Header, a JSON object. */
  readonly header: Readonly<Record<string, unknown>>;
  readonly body: Uint8Array;
}

export const NO_BODY = new Uint8Array(0);

export type NetworkReply =
  | { readonly kind: "reply"; readonly header: Readonly<Record<string, unknown>>; readonly body: Uint8Array }
  /** The peer certainly did not receive the request: no such name, closed port, refused handshake. */
  | { readonly kind: "unreachable"; readonly reason: string; readonly isSilent: boolean }
  /** The peer may have received the request, but did not answer. */
  | { readonly kind: "unknown"; readonly reason: string };

export interface Network {
  send(message: Message): void;
  /** Sends a snapshot. Resolves once the member has the file; rejects if the link breaks or the member refuses. */
  sendSnapshot(message: Message, record: SnapshotRecord, path: string, signal: AbortSignal): Promise<void>;
  /** Sets the addresses to connect to, by member id. */
  setPeers(peers: ReadonlyMap<string, string>): void;
  sendRemoved(to: string, index: number): void;
  /** Returns the members that are connected now. */
  connected(): ReadonlySet<string>;
  /** Asks a node. Never rejects. */
  request(address: string, request: NetworkRequest, timeoutMs: number): Promise<NetworkReply>;
  close(): Promise<void>;
}
