/** Converts retries and timeouts of the source, within our bounds. */

import { durationText } from "./durations.ts";
import type { Section } from "./foreign-source.ts";

const MAX_ATTEMPTS = 5;
/** A day. A longer timeout most likely has another unit. */
const MAX_TIMEOUT_MS = 86_400_000;

interface Backoff {
  readonly firstMs?: number | undefined;
  readonly maxMs?: number | undefined;
}

/** Returns the retry policy, or `undefined` for none. */
export function retryOf(section: Section, key: string, attempts: number | undefined, { firstMs, maxMs }: Backoff = {}) {
  if (attempts === undefined || attempts < 1) return undefined;
  if (attempts > MAX_ATTEMPTS) section.addNote(key, `imported as ${MAX_ATTEMPTS}, which is the maximum`);
  const first = Math.min(firstMs ?? 0, MAX_TIMEOUT_MS);
  const maxTimeoutMs = Math.min(maxMs ?? 0, MAX_TIMEOUT_MS);
  return {
    attempts: Math.min(MAX_ATTEMPTS, Math.floor(attempts)),
    ...(first > 0 && { backoff: durationText(first) }),
    ...(maxTimeoutMs > 0 && maxTimeoutMs >= first && { max_backoff: durationText(maxTimeoutMs) }),
  };
}

/** Returns a timeout in milliseconds; `unit` is the number of milliseconds in a unit of the source. */
export function timeoutOf(section: Section, key: string, unit: number): number | undefined {
  const value = section.number(key);
  if (value === undefined) return undefined;
  const ms = value * unit;
  if (ms >= 1 && ms <= MAX_TIMEOUT_MS) return ms;
  section.addNote(key, "left out: expected a time from a millisecond to a day");
  return undefined;
}
