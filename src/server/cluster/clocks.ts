/**
 * The clocks of the members beside this node's, as read on the links. The time of the log is stamped by the leader and
 * never goes back, so a leader whose clock is ahead would move every window, suspension and expiry for as long as it was
 * ahead. The median of all members' clocks is what one wrong clock cannot move.
 */

import type { ClockReading } from "./transport/index.ts";

/** A leader whose clock is further ahead of the median stamps the median. */
export const MAX_LEAD_MS = 2_000;
/** A node whose clock is further from the median, either way, leaves leading to others. */
export const MAX_LEADER_OFFSET_MS = 30_000;
/** Beyond this an operator is told. */
export const TOLD_OFFSET_MS = 1_000;

/** Readings of a peer that are looked at, of which the quickest counts: it is off by half its round trip at most. */
const KEPT = 4;
/**
 * Peers are asked every two and a half seconds. A clock goes on while its node is away, so that the median does not hang
 * on the two that are left.
 */
const FRESH_MS = 600_000;
/** Beyond what two round trips explain, the clock was set. */
const SET_MS = 100;

interface Kept extends ClockReading {
  readonly at: number;
}

export interface Clocks {
  note(nodeId: string, reading: ClockReading): void;
  /** Milliseconds by which its clock is ahead of this node's; undefined while it is not known. */
  offsetOf(nodeId: string): number | undefined;
  /** Milliseconds by which this node's clock is ahead of the median of all that are known, its own included. */
  lead(): number;
  /** What a leader stamps at `now` of its own clock, milliseconds since 1970. */
  stamp(now: number): number;
  /** Milliseconds by which a member's clock is ahead of the median; undefined while it is not known. */
  aheadOf(nodeId: string): number | undefined;
  /** Members that are none any more. */
  keepOnly(nodeIds: readonly string[]): void;
}

/** `monotonic`: milliseconds. */
export function createClocks(monotonic: () => number): Clocks {
  const readings = new Map<string, readonly Kept[]>();

  const offsetOf = (id: string): number | undefined => {
    const now = monotonic();
    const fresh = (readings.get(id) ?? []).filter(({ at }) => now - at <= FRESH_MS);
    return fresh.toSorted((a, b) => a.roundTripMs - b.roundTripMs)[0]?.offsetMs;
  };

  const lead = (): number => {
    const offsets = [0, ...[...readings.keys()].flatMap((id) => offsetOf(id) ?? [])].sort((a, b) => a - b);
    // The lower of two: a log that is behind harms less than one that is ahead, and catches up.
    return 0 - (offsets[Math.floor((offsets.length - 1) / 2)] ?? 0);
  };

  return {
    note(id, reading) {
      const kept = (readings.get(id) ?? []).filter(
        ({ offsetMs, roundTripMs }) =>
          Math.abs(offsetMs - reading.offsetMs) <= (roundTripMs + reading.roundTripMs) / 2 + SET_MS,
      );
      readings.set(id, [...kept, { ...reading, at: monotonic() }].slice(-KEPT));
    },
    offsetOf,
    lead,
    aheadOf(id) {
      const offset = offsetOf(id);
      return offset === undefined ? undefined : offset + lead();
    },
    stamp(now) {
      const ahead = lead();
      return ahead > MAX_LEAD_MS ? now - ahead : now;
    },
    keepOnly(ids) {
      for (const id of readings.keys()) if (!ids.includes(id)) readings.delete(id);
    },
  };
}
