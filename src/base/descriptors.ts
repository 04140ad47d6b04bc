/** File descriptors of this process: the limit, and how many are left. */
import { readdirSync, readFileSync } from "node:fs";

const LOOK_MS = 1_000;
/**
 * Share of the limit that is kept free of waiting connections. A request under way needs a second descriptor, for its upstream,
 * and by default there are at most 4,096 requests. The rest is for connections that wait or are being refused.
 */
const RESERVED_PART = 3 / 5;
const MOST_RESERVED = 4_096;

/** Descriptors that were open before the first connection. */
let own = 0;
let lookedAt = Number.NEGATIVE_INFINITY;
let limit = Number.POSITIVE_INFINITY;

/** Returns the limit (`ulimit -n`), read at most once a second; `Infinity` if the system does not report one. */
export function descriptorLimit(): number {
  const now = performance.now();
  if (now - lookedAt < LOOK_MS) return limit;
  lookedAt = now;
  limit = readLimit();
  return limit;
}

function readLimit(): number {
  try {
    const [, soft] = /^Max open files +(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8")) ?? [];
    return soft === undefined ? Number.POSITIVE_INFINITY : Number(soft);
  } catch {
    // The system has no /proc, or no descriptor is left to read it with, so the last known value stays.
    return limit;
  }
}

/** Returns the number of descriptors that connections leave for everything else. */
export const reservedDescriptors = (of: number): number =>
  Math.min(MOST_RESERVED, Math.max(0, Math.floor((of - own) * RESERVED_PART)));

/**
 * Notes which descriptors are open before the first connection, so that they do not count as connections. Call it before
 * listening.
 */
export function connectionsBegin(): void {
  own = countOpen();
}

/**
 * Returns how many more connections may be open beside `socket`, which was opened last; less than 1: they run out. The system
 * gives the lowest number that is free, so the number of the newest descriptor tells how many are in use.
 */
export function descriptorsLeft(socket: object): number {
  const { fd } = (socket as { readonly _handle?: { readonly fd?: number } | null })._handle ?? {};
  const most = descriptorLimit();
  if (fd === undefined || fd < 0 || most === Number.POSITIVE_INFINITY) return Number.POSITIVE_INFINITY;
  return most - reservedDescriptors(most) - fd;
}

/**
 * Returns how many more connections may be open, by what is open now; negative where there are too many. Takes time in
 * proportion to the descriptors.
 */
export function countDescriptorsLeft(): number {
  const most = descriptorLimit();
  return most - reservedDescriptors(most) - countOpen();
}

function countOpen(): number {
  try {
    return readdirSync("/proc/self/fd").length;
  } catch {
    return 0;
  }
}
