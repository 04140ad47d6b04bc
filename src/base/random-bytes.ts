/**
 * Random bytes for many short texts, such as ids and keys. Asking the system for a few bytes takes as long as asking for
 * thousands, so they come from a pool. Bytes that were handed out are overwritten there.
 */
import { randomBytes, randomFillSync } from "node:crypto";

const POOL_BYTES = 4_096;
/** Longer ones are asked for by themselves. */
const MAX_POOLED_BYTES = 64;

const pool = Buffer.alloc(POOL_BYTES);
let used = POOL_BYTES;

/** Returns `length` unpredictable bytes, like `randomBytes` of `node:crypto`. */
export function pooledRandomBytes(length: number): Buffer {
  if (length > MAX_POOLED_BYTES) return randomBytes(length);
  if (used + length > POOL_BYTES) {
    randomFillSync(pool);
    used = 0;
  }
  const bytes = Buffer.from(pool.subarray(used, used + length));
  pool.fill(0, used, used + length);
  used += length;
  return bytes;
}
