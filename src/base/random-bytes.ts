/**
 * Random bytes for many short texts, such as ids and keys, from a pool: a system call for a few bytes takes as long as
 * one for thousands. Used bytes are overwritten in the pool.
 */
import { randomBytes, randomFillSync } from "node:crypto";

const POOL_BYTES = 4_096;
/** Maximum length that is taken from the pool. */
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
