/**
 * Learns how far the clocks of servers that verify our signatures are from ours. A signature is accepted within five minutes of
 * the verifier's time. If it is refused, the `date` of the answer shows that time. Source: credentials reference, 1.4.
 *
 * Offsets are learned from refusals only: an accepted answer proves the offset that it was signed with.
 */

/**
 * Smallest offset that is corrected, in milliseconds. A smaller one cannot cause a refusal; it is the time that the answer took.
 */
const MIN_CORRECTION_MS = 240_000;
/** Largest offset that is followed, in milliseconds. A clock that is further off is the server's fault. */
const MAX_OFFSET_MS = 24 * 60 * 60_000;
const MAX_HOSTS = 1_000;

export interface ClockOffsets {
  /** Returns the milliseconds to add to our time. */
  offsetMs(host: string): number;
  /**
   * Learns from the `date` header of an answer that refused a request signed with the offset `used`. Returns true if another
   * offset is used from now on. A second refusal in a row reverts the change.
   */
  adjustAfterRefusal(host: string, used: number, date: string | undefined): boolean;
  /** Notes that a request signed with the current offset was not refused for its time. */
  confirm(host: string): void;
}

interface ClockOffsetsOptions {
  /** Returns the current time, in milliseconds since 1970. */
  readonly now: () => number;
  readonly onChange: (host: string, offsetMs: number) => void;
}

interface HostOffset {
  offsetMs: number;
  /** Previous offset, until an answer proves the new one. */
  previousMs: number | undefined;
}

export function createClockOffsets({ now, onChange }: ClockOffsetsOptions): ClockOffsets {
  const hosts = new Map<string, HostOffset>();
  return {
    offsetMs: (host) => hosts.get(host)?.offsetMs ?? 0,
    adjustAfterRefusal(host, used, date) {
      const known = hosts.get(host);
      // A concurrent request has already learned the new offset.
      if (known !== undefined && Math.abs(known.offsetMs - used) >= MIN_CORRECTION_MS) return true;
      if (known?.previousMs !== undefined) {
        known.offsetMs = known.previousMs;
        known.previousMs = undefined;
        onChange(host, known.offsetMs);
        return false;
      }
      const verifierMs = date === undefined ? Number.NaN : Date.parse(date);
      const offsetMs = verifierMs - now();
      const isPlausible = Math.abs(offsetMs - used) >= MIN_CORRECTION_MS && Math.abs(offsetMs) <= MAX_OFFSET_MS;
      if (!isPlausible || (known === undefined && hosts.size >= MAX_HOSTS)) return false;
      hosts.set(host, { offsetMs, previousMs: used });
      onChange(host, offsetMs);
      return true;
    },
    confirm(host) {
      const known = hosts.get(host);
      if (known !== undefined) known.previousMs = undefined;
    },
  };
}
