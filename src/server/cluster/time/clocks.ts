/**
 * Time of the cluster: the median of the members' clocks, as measured on the links, so one wrong clock cannot move it. It is
 * stored as an origin, the time at which this machine's monotonic clock was zero. So a step of the wall clock has no immediate
 * effect: it is detected against the monotonic clock, and the clock keeps its earlier value until another member confirms the
 * new time or it has lasted for ten seconds.
 */

import type { ClockReading } from "../transport/index.ts";

/** Offset from the median, in either direction, beyond which a node uses the median, in milliseconds. */
const MAX_OWN_OFFSET_MS = 2_000;
/** Offset from the median, in either direction, beyond which a node leaves leadership to others, in milliseconds. */
export const MAX_LEADER_OFFSET_MS = 30_000;
/** Offset above which a warning is logged, in milliseconds. */
export const WARNED_OFFSET_MS = 1_000;

/** Number of readings kept per peer. The one with the shortest round trip is used; its error is at most half of that. */
const MAX_READINGS = 4;
/**
 * Lifetime of a reading, in milliseconds. Peers are asked every 2.5 seconds. The long lifetime keeps the clock of an absent
 * member in the median: with only two clocks left, one wrong clock could move it.
 */
const READING_LIFETIME_MS = 600_000;
/** Difference between two readings, beyond their round trips, from which on the peer's clock was set; in milliseconds. */
const CLOCK_SET_MS = 100;
/**
 * Difference between two readings beyond which the wall clock was stepped, in milliseconds. A slewed clock moves by microseconds.
 */
const CLOCK_STEP_MS = 500;
/** Duration after which a step of the clock is accepted if no other member can confirm it, in milliseconds. */
const STEP_SETTLE_MS = 10_000;

interface ClockPorts {
  /** Returns the time of this machine's wall clock, in milliseconds since 1970. The clock may be set. */
  wall(): number;
  /** Returns the time of this machine's monotonic clock, in milliseconds. */
  monotonic(): number;
  /** Called when the wall clock was set by `byMs` milliseconds, before that is accepted. */
  onStep?(byMs: number): void;
}

export interface Clocks {
  addReading(nodeId: string, reading: ClockReading): void;
  /** Returns the milliseconds by which a member's clock is ahead of this node's; `undefined` if unknown. */
  offsetOf(nodeId: string): number | undefined;
  /** Returns the milliseconds by which this node's clock is ahead of the median of all known clocks. */
  aheadOfMedian(): number;
  /** Returns this node's time minus its monotonic clock, in milliseconds. It changes when a clock is read. */
  originMs(): number;
  /** Returns this node's time in whole milliseconds since 1970, which a leader stamps. */
  now(): number;
  /** Returns the milliseconds by which a member's clock is ahead of the median; `undefined` if unknown. */
  aheadOf(nodeId: string): number | undefined;
  /** Forgets nodes that are no longer members. */
  keepOnly(nodeIds: readonly string[]): void;
}

/** Origin of a clock, at the time when it was read. */
interface ClockOrigin {
  readonly originMs: number;
  readonly roundTripMs: number;
  readonly at: number;
}

export function createClocks({ wall, monotonic, onStep }: ClockPorts): Clocks {
  const readings = new Map<string, readonly ClockOrigin[]>();
  /** Origin of this node's clock, without a step that is not confirmed yet. */
  let ownOriginMs = wall() - monotonic();
  let pendingStep: { readonly originMs: number; readonly since: number } | undefined;

  /** Returns the origin of the wall clock as it is now. */
  const readWallOrigin = (): number => {
    const since = monotonic();
    const originMs = wall() - since;
    if (Math.abs(originMs - ownOriginMs) <= CLOCK_STEP_MS) {
      ownOriginMs = originMs;
      pendingStep = undefined;
    } else if (pendingStep === undefined || Math.abs(originMs - pendingStep.originMs) > CLOCK_STEP_MS) {
      pendingStep = { originMs, since };
      onStep?.(Math.round(originMs - ownOriginMs));
    } else if (since - pendingStep.since >= STEP_SETTLE_MS) {
      ownOriginMs = originMs;
      pendingStep = undefined;
    }
    return originMs;
  };

  const originOf = (id: string): number | undefined => {
    const now = monotonic();
    const fresh = (readings.get(id) ?? []).filter(({ at }) => now - at <= READING_LIFETIME_MS);
    return fresh.toSorted((a, b) => a.roundTripMs - b.roundTripMs)[0]?.originMs;
  };

  const medianOrigin = (): number => {
    const origins = [ownOriginMs, ...[...readings.keys()].flatMap((id) => originOf(id) ?? [])].sort((a, b) => a - b);
    // The lower of two middle values is used: a log that is behind does less harm than one that is ahead, and catches up.
    return origins[Math.floor((origins.length - 1) / 2)] ?? ownOriginMs;
  };

  const originMs = (): number => {
    readWallOrigin();
    const middle = medianOrigin();
    return Math.abs(ownOriginMs - middle) > MAX_OWN_OFFSET_MS ? middle : ownOriginMs;
  };

  return {
    addReading(id, { atMs, monotonicMs, roundTripMs }) {
      const originMs = atMs - monotonicMs;
      const kept = (readings.get(id) ?? []).filter(
        (it) => Math.abs(it.originMs - originMs) <= (it.roundTripMs + roundTripMs) / 2 + CLOCK_SET_MS,
      );
      readings.set(id, [...kept, { originMs, roundTripMs, at: monotonic() }].slice(-MAX_READINGS));
      readWallOrigin();
      if (pendingStep === undefined) return;
      // Another member's clock confirms the step if it is closer to the new time than to the old one.
      const near = Math.min(MAX_OWN_OFFSET_MS, Math.abs(pendingStep.originMs - ownOriginMs) / 2);
      if (Math.abs(originMs - pendingStep.originMs) >= near) return;
      ownOriginMs = pendingStep.originMs;
      pendingStep = undefined;
    },
    offsetOf(id) {
      const originMs = originOf(id);
      return originMs === undefined ? undefined : Math.round(originMs - readWallOrigin());
    },
    aheadOfMedian() {
      const originMs = readWallOrigin();
      return Math.round(originMs - medianOrigin());
    },
    originMs,
    now: () => Math.max(0, Math.round(originMs() + monotonic())),
    aheadOf(id) {
      const originMs = originOf(id);
      return originMs === undefined ? undefined : Math.round(originMs - medianOrigin());
    },
    keepOnly(ids) {
      for (const id of readings.keys()) if (!ids.includes(id)) readings.delete(id);
    },
  };
}
