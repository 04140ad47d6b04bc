/** File descriptors of this process: their limit, and how many are left. */
import { readdirSync, readFileSync } from "node:fs";

const CHECK_MS = 1_000;
/**
 * Fraction of the limit, and maximum number, of descriptors that waiting connections must leave free. A request needs a
 * second descriptor, for its upstream, and by default there are at most 4,096 requests. The rest is for connections
 * that wait or are being refused.
 */
const RESERVED_FRACTION = 3 / 5;
const MAX_RESERVED = 4_096;

/** Number of descriptors that were open before the first connection. */
let baselineOpen = 0;
let limitReadAt = Number.NEGATIVE_INFINITY;
let limit = Number.POSITIVE_INFINITY;

/** Returns the limit (`ulimit -n`), read at most once a second; `Infinity` if the system does not report one. */
export function descriptorLimit(): number {
  const now = performance.now();
  if (now - limitReadAt < CHECK_MS) return limit;
  limitReadAt = now;
  limit = readLimit();
  return limit;
}

function readLimit(): number {
  try {
    const [, soft] = /^Max open files +(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8")) ?? [];
    return soft === undefined ? Number.POSITIVE_INFINITY : Number(soft);
  } catch {
    // The system has no /proc, or there is no descriptor left to read it with, so the last known value stays.
    return limit;
  }
}

/** Returns the number of descriptors that connections leave for everything else. */
export const reservedDescriptors = (max: number): number =>
  Math.min(MAX_RESERVED, Math.max(0, Math.floor((max - baselineOpen) * RESERVED_FRACTION)));

/**
 * Counts the descriptors that are open before the first connection, so that they do not count as connections. Call it
 * before listening.
 */
export function recordBaselineDescriptors(): void {
  baselineOpen = countOpen();
}

/**
 * Returns how many more connections may be open besides `socket`, which was opened last; less than 1 if none may. The
 * system assigns the lowest free number, so the newest descriptor shows how many are in use.
 */
export function descriptorsLeft(socket: object): number {
  const { fd } = (socket as { readonly _handle?: { readonly fd?: number } | null })._handle ?? {};
  const max = descriptorLimit();
  if (fd === undefined || fd < 0 || max === Number.POSITIVE_INFINITY) return Number.POSITIVE_INFINITY;
  return max - reservedDescriptors(max) - fd;
}

/**
 * Returns how many more connections may be open, by counting open descriptors; negative if there are too many. Takes
 * time in proportion to their number.
 */
export function countDescriptorsLeft(): number {
  const max = descriptorLimit();
  return max - reservedDescriptors(max) - countOpen();
}

function countOpen(): number {
  try {
    return readdirSync("/proc/self/fd").length;
  } catch {
    return 0;
  }
}
