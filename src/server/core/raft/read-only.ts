/**
 * Reads on a leader that wait until a quorum confirms that it still leads.
 *
 * Source: dissertation, 6.4; cluster reference, 2.3 rule 14. A read remembers the commit index at its arrival. Rounds of
 * heartbeats carry a counter that only grows; a quorum of answers to round n confirms every read that arrived before round n was
 * sent. A repeated read takes the newer position. Reads on a leader that has not committed in its term wait in `unestablished`.
 * Both queues are limited; excess reads are dropped and must be repeated.
 */

import { Buffer } from "node:buffer";
import type { NodeId } from "./types.ts";

/** Maximum number of pending reads. Callers batch their reads, so this many mean that no quorum answers. */
const MAX_PENDING_READS = 1_024;
const ROUND_BYTES = 8;
const TWO_TO_32 = 2 ** 32;

export interface Read {
  readonly from: NodeId;
  readonly context: Uint8Array;
}

export interface PendingRead extends Read {
  readonly index: number;
  /** First round that can confirm the read. */
  readonly round: number;
}

export interface ReadOnly {
  readonly unestablished: Read[];
  /** Waiting reads by sender and context, in order of arrival. */
  readonly pending: Map<string, PendingRead>;
  /** Last round that was sent. */
  round: number;
  /** True if a read waits for a round that was not sent. */
  isRoundDue: boolean;
  /** Last round that each member answered. */
  readonly acks: Map<NodeId, number>;
}

export function createReadOnly(): ReadOnly {
  return { unestablished: [], pending: new Map(), round: 0, isRoundDue: false, acks: new Map() };
}

/** Clears the reads for a new term. The counter keeps growing. */
export function clearReads(reads: ReadOnly): void {
  reads.unestablished.length = 0;
  reads.pending.clear();
  reads.acks.clear();
  reads.isRoundDue = false;
}

export function holdRead(reads: ReadOnly, read: Read): void {
  if (reads.unestablished.length < MAX_PENDING_READS) reads.unestablished.push(read);
}

export function addRead(reads: ReadOnly, { from, context }: Read, commit: number): void {
  const key = `${from}/${Buffer.from(context).toString("latin1")}`;
  reads.pending.delete(key);
  if (reads.pending.size >= MAX_PENDING_READS) return;
  reads.pending.set(key, { from, context, index: commit, round: reads.round + 1 });
  reads.isRoundDue = true;
}

/** Returns the context of the heartbeats that are sent now; `undefined` if no read waits. */
export function startRound(reads: ReadOnly): Uint8Array | undefined {
  if (reads.isRoundDue) reads.round += 1;
  reads.isRoundDue = false;
  return reads.pending.size === 0 ? undefined : encodeRound(reads.round);
}

/** Takes an answer to a round. Returns false if it contains nothing new. */
export function acknowledgeRound(reads: ReadOnly, from: NodeId, context: Uint8Array): boolean {
  const round = decodeRound(context);
  if (round === undefined || round > reads.round || round <= (reads.acks.get(from) ?? 0)) return false;
  reads.acks.set(from, round);
  return true;
}

/** Removes and returns the reads that `round` confirms. */
export function takeConfirmed(reads: ReadOnly, round: number): readonly PendingRead[] {
  const confirmed: PendingRead[] = [];
  for (const [key, read] of reads.pending) {
    if (read.round > round) break;
    confirmed.push(read);
    reads.pending.delete(key);
  }
  if (reads.pending.size === 0) reads.isRoundDue = false;
  return confirmed;
}

/** Encodes a round in eight bytes, big endian. */
function encodeRound(round: number): Uint8Array {
  const bytes = new Uint8Array(ROUND_BYTES);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, Math.floor(round / TWO_TO_32));
  view.setUint32(4, round % TWO_TO_32);
  return bytes;
}

function decodeRound(context: Uint8Array): number | undefined {
  if (context.byteLength !== ROUND_BYTES) return undefined;
  const view = new DataView(context.buffer, context.byteOffset, ROUND_BYTES);
  const round = view.getUint32(0) * TWO_TO_32 + view.getUint32(4);
  return Number.isSafeInteger(round) ? round : undefined;
}
