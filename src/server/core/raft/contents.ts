/**
 * Compares the contents of entries in two logs. Raft concludes that entries with the same index and term are equal, since a term
 * has one leader. But a majority with old copies of their disks can elect a second leader in a past term. So a leader that
 * begins to replicate to a member sends digests of its last entries, and so does a member that refuses an append or answers with
 * its commit index.
 *
 * The digests are in the context of MsgApp and MsgAppResp: eight bytes of SHA-256 per entry; the last one belongs to the entry
 * at the message's index. Earlier versions send no context there and ignore it.
 */

import { hash } from "node:crypto";
import { entriesBetween, firstIndex, lastIndex, type RaftLog, termAt } from "./raft-log.ts";
import type { Entry } from "./types.ts";

const DIGEST_BYTES = 8;
const MAX_ENTRIES = 32;
/** Maximum bytes to hash besides the last entry, so that a probe does not delay other messages. */
const MAX_BYTES = 64 * 1024;
const HEAD_BYTES = 17;

/** Returns digests of the entry at `index` and some entries before it; `undefined` if the log does not contain it. */
export function contentsUpTo(log: RaftLog, index: number): Uint8Array | undefined {
  const digests: Uint8Array[] = [];
  let bytes = 0;
  for (let at = index; at > index - MAX_ENTRIES; at -= 1) {
    const entry = entryAt(log, at);
    if (entry === undefined) break;
    bytes += entry.data.byteLength;
    if (digests.length > 0 && bytes > MAX_BYTES) break;
    digests.push(digestOf(entry));
  }
  return digests.length === 0 ? undefined : Buffer.concat(digests.reverse());
}

/** Returns the last index up to `index` at which this log differs from the digests; `undefined` if no difference is known. */
export function differingAt(log: RaftLog, index: number, shown: Uint8Array | undefined): number | undefined {
  const count = Math.min(MAX_ENTRIES, Math.floor((shown?.byteLength ?? 0) / DIGEST_BYTES));
  for (let back = 0; shown !== undefined && back < count; back += 1) {
    const entry = entryAt(log, index - back);
    const end = shown.byteLength - back * DIGEST_BYTES;
    if (entry !== undefined && Buffer.compare(digestOf(entry), shown.subarray(end - DIGEST_BYTES, end)) !== 0) {
      return index - back;
    }
  }
  return undefined;
}

/** Returns true if this log has an entry with the same index and term but other contents. */
export function holdsOther(log: RaftLog, entry: Entry): boolean {
  if (entry.index > lastIndex(log) || termAt(log, entry.index) !== entry.term) return false;
  const own = entryAt(log, entry.index);
  return own !== undefined && (own.kind !== entry.kind || Buffer.compare(own.data, entry.data) !== 0);
}

function entryAt(log: RaftLog, index: number): Entry | undefined {
  if (index < firstIndex(log) || index > lastIndex(log)) return undefined;
  return entriesBetween(log, index, index + 1, 1)[0];
}

function digestOf({ index, term, kind, data }: Entry): Uint8Array {
  const text = Buffer.allocUnsafe(HEAD_BYTES + data.byteLength);
  text.writeDoubleBE(index, 0);
  text.writeDoubleBE(term, 8);
  text[HEAD_BYTES - 1] = kind === "normal" ? 0 : 1;
  text.set(data, HEAD_BYTES);
  return hash("sha256", text, "buffer").subarray(0, DIGEST_BYTES);
}
