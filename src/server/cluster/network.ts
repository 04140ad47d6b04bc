/**
 * The network as a replica uses it: consensus messages and snapshots to members by id, requests to any node by address.
 */

import type { Message } from "../core/raft/index.ts";
import type { SnapshotRecord } from "./storage/index.ts";

/** A request over the forward listener; `remove` and `transfer` travel as a `prune` that names them, `read` as a `status`. */
export type AskKind = "propose" | "join" | "rejoin" | "prune" | "remove" | "transfer" | "status" | "read";

export interface Asked {
  readonly kind: AskKind;
  /** JSON. */
  readonly header: Readonly<Record<string, unknown>>;
  readonly body: Uint8Array;
}

export const NO_BODY = new Uint8Array(0);

export type NetworkReply =
  | { readonly kind: "reply"; readonly header: Readonly<Record<string, unknown>>; readonly body: Uint8Array }
  /** Certainly not received: no such name, closed port, refused at the handshake. */
  | { readonly kind: "unreachable"; readonly why: string; readonly isSilent: boolean }
  /** Received, perhaps, and not answered. */
  | { readonly kind: "unknown"; readonly why: string };

export interface Network {
  send(message: Message): void;
  /** Resolves once the member has the file; rejects when the link breaks or it refuses. */
  sendSnapshot(message: Message, record: SnapshotRecord, path: string, signal: AbortSignal): Promise<void>;
  /** Addresses to connect to, by id. */
  setPeers(peers: ReadonlyMap<string, string>): void;
  sendRemoved(to: string, index: number): void;
  /** Returns the members that are connected now. */
  connected(): ReadonlySet<string>;
  /** Never rejects. */
  ask(address: string, asked: Asked, timeoutMs: number): Promise<NetworkReply>;
  close(): Promise<void>;
}
