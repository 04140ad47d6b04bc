/**
 * The time that a cluster goes by: the median of the members' clocks, as read on the links. One wrong clock cannot move
 * it. It is kept as an origin, the time at which the monotonic clock of this machine was zero, so a wall clock that is
 * set moves nothing at once: the step shows against the monotonic clock, and the clock counts by what it was before,
 * until another member confirms the new time or it has stayed for ten seconds.
 */

import type { ClockReading } from "./transport/index.ts";

/** A node whose clock is further from the median, either way, goes by the median. */
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
/** Between two looks a wall clock that is slewed moves by microseconds against the monotonic clock. */
const STEP_MS = 500;
/** A step that lasts for so long is how the clock is now, where no other member can tell. */
const SETTLE_MS = 10_000;

export interface ClockPorts {
  /** Milliseconds since 1970, by the clock of this machine, which may be set. */
  wall(): number;
  /** Milliseconds of a clock that is never set. */
  monotonic(): number;
  /** The wall clock was set by so many milliseconds, and is not gone by yet. */
  onStep?(byMs: number): void;
}

export interface Clocks {
  note(nodeId: string, reading: ClockReading): void;
  /** Milliseconds by which its clock is ahead of this node's; undefined while it is not known. */
  offsetOf(nodeId: string): number | undefined;
  /** Milliseconds by which this node's clock, as it is now, is ahead of the median of all that are known. */
  lead(): number;
  /** Milliseconds between the time that this node goes by and the monotonic clock; changes when a clock is read anew. */
  origin(): number;
  /** The time that this node goes by, in whole milliseconds since 1970: what a leader stamps. */
  now(): number;
  /** Milliseconds by which a member's clock is ahead of the median; undefined while it is not known. */
  aheadOf(nodeId: string): number | undefined;
  /** Members that are none any more. */
  keepOnly(nodeIds: readonly string[]): void;
}

/** An origin, as of when it was read. */
interface Kept {
  readonly originMs: number;
  readonly roundTripMs: number;
  readonly at: number;
}

export function createClocks({ wall, monotonic, onStep }: ClockPorts): Clocks {
  const readings = new Map<string, readonly Kept[]>();
  /** Origin of this node's clock, without a step that is not confirmed yet. */
  let own = wall() - monotonic();
  let stepped: { readonly originMs: number; readonly since: number } | undefined;

  /** Returns the origin of the wall clock as it is now. */
  const look = (): number => {
    const since = monotonic();
    const originMs = wall() - since;
    if (Math.abs(originMs - own) <= STEP_MS) {
      own = originMs;
      stepped = undefined;
    } else if (stepped === undefined || Math.abs(originMs - stepped.originMs) > STEP_MS) {
      stepped = { originMs, since };
      onStep?.(Math.round(originMs - own));
    } else if (since - stepped.since >= SETTLE_MS) {
      own = originMs;
      stepped = undefined;
    }
    return originMs;
  };

  const originOf = (id: string): number | undefined => {
    const now = monotonic();
    const fresh = (readings.get(id) ?? []).filter(({ at }) => now - at <= FRESH_MS);
    return fresh.toSorted((a, b) => a.roundTripMs - b.roundTripMs)[0]?.originMs;
  };

  const median = (): number => {
    const origins = [own, ...[...readings.keys()].flatMap((id) => originOf(id) ?? [])].sort((a, b) => a - b);
    // The lower of two: a log that is behind harms less than one that is ahead, and catches up.
    return origins[Math.floor((origins.length - 1) / 2)] ?? own;
  };

  const origin = (): number => {
    look();
    const middle = median();
    return Math.abs(own - middle) > MAX_LEAD_MS ? middle : own;
  };

  return {
    note(id, { atMs, monotonicMs, roundTripMs }) {
      const originMs = atMs - monotonicMs;
      const kept = (readings.get(id) ?? []).filter(
        (it) => Math.abs(it.originMs - originMs) <= (it.roundTripMs + roundTripMs) / 2 + SET_MS,
      );
      readings.set(id, [...kept, { originMs, roundTripMs, at: monotonic() }].slice(-KEPT));
      look();
      if (stepped === undefined) return;
      // Another's clock tells which of the two is right, as far as it is nearer to one of them.
      const near = Math.min(MAX_LEAD_MS, Math.abs(stepped.originMs - own) / 2);
      if (Math.abs(originMs - stepped.originMs) >= near) return;
      own = stepped.originMs;
      stepped = undefined;
    },
    offsetOf(id) {
      const originMs = originOf(id);
      return originMs === undefined ? undefined : Math.round(originMs - look());
    },
    lead() {
      const originMs = look();
      return Math.round(originMs - median());
    },
    origin,
    now: () => Math.max(0, Math.round(origin() + monotonic())),
    aheadOf(id) {
      const originMs = originOf(id);
      return originMs === undefined ? undefined : Math.round(originMs - median());
    },
    keepOnly(ids) {
      for (const id of readings.keys()) if (!ids.includes(id)) readings.delete(id);
    },
  };
}
