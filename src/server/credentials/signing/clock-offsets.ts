/**
 * Learns how far the clocks of servers that verify our signatures are from ours. A signature is accepted within five minutes of
 * the verifier's time. If it is refused, the `date` of the answer shows that time. Source: credentials reference, 1.4.
 *
 * Offsets are learned from refusals only: an accepted answer proves the offset that it was signed with.
 */

/**
 * Smallest offset that is corrected, in milliseconds. A smaller one cannot cause a refusal; it is the time that the answer took.
 */
const LEAST_CHANGE_MS = 240_000;
/** Largest offset that is followed, in milliseconds. A clock that is further off is the server's fault. */
const MOST_OFFSET_MS = 24 * 60 * 60_000;
const MAX_HOSTS = 1_000;

export interface ClockOffsets {
  /** Returns the milliseconds to add to our time. */
  of(host: string): number;
  /**
   * Learns from the `date` header of an answer that refused a request signed with the offset `used`. Returns true if another
   * offset is used from now on. A second refusal in a row reverts the change.
   */
  refused(host: string, used: number, date: string | undefined): boolean;
  /** Notes that a request signed with the current offset was not refused for its time. */
  accepted(host: string): void;
}

interface ClockOffsetsOptions {
  /** Returns the current time, in milliseconds since 1970. */
  readonly now: () => number;
  readonly changed: (host: string, offsetMs: number) => void;
}

interface Learnt {
  offsetMs: number;
  /** Previous offset, until an answer proves the new one. */
  before: number | undefined;
}

export function createClockOffsets({ now, changed }: ClockOffsetsOptions): ClockOffsets {
  const hosts = new Map<string, Learnt>();
  return {
    of: (host) => hosts.get(host)?.offsetMs ?? 0,
    refused(host, used, date) {
      const learnt = hosts.get(host);
      // A concurrent request has already learned the new offset.
      if (learnt !== undefined && Math.abs(learnt.offsetMs - used) >= LEAST_CHANGE_MS) return true;
      if (learnt?.before !== undefined) {
        learnt.offsetMs = learnt.before;
        learnt.before = undefined;
        changed(host, learnt.offsetMs);
        return false;
      }
      const there = date === undefined ? Number.NaN : Date.parse(date);
      const offsetMs = there - now();
      const isOther = Math.abs(offsetMs - used) >= LEAST_CHANGE_MS && Math.abs(offsetMs) <= MOST_OFFSET_MS;
      if (!isOther || (learnt === undefined && hosts.size >= MAX_HOSTS)) return false;
      hosts.set(host, { offsetMs, before: used });
      changed(host, offsetMs);
      return true;
    },
    accepted(host) {
      const learnt = hosts.get(host);
      if (learnt !== undefined) learnt.before = undefined;
    },
  };
}
