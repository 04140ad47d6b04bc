/** What one run of the simulation is about, and what came of it. */
export interface Plan {
  readonly seed: number;
  readonly limit: number;
  readonly windowMs: number;
  readonly lengthMs: number;
  /** Requests a second, of each node. */
  readonly load: readonly number[];
  /** Of each node's clock, milliseconds. */
  readonly skew: readonly number[];
  /** Reservations are bounds of the cost. */
  readonly isHard: boolean;
  /** Of a report or an answer, each. */
  readonly loss: number;
  readonly doubling: number;
  readonly delayMs: number;
  /** Of each node, a second. */
  readonly restarts: number;
  /** Of a half second, to be without a leader. */
  readonly leaderless: number;
  readonly changesLimit: boolean;
  /** Of a request, to fail after a third of it and to be tried again. */
  readonly retries: number;
  /** A node whose clock is behind the time of the log goes by the log. */
  readonly readsLog: boolean;
  /** Reports say what the node may spend before the next. */
  readonly pledges: boolean;
  /** How fast each node's own clock goes, by which it counts a lease; 1 where left out. */
  readonly pace?: readonly number[];
  /** A node of these is cut off from the cluster, or dies and is not started again, at this time and for so long. */
  readonly outages?: readonly Outage[];
  readonly stepMs?: number;
}

export interface Outage {
  readonly node: number;
  readonly at: number;
  readonly ms: number;
  readonly kind: "cut" | "dead";
}

export interface Outcome {
  /** By number of the window. */
  readonly charged: ReadonlyMap<number, number>;
  readonly excess: ReadonlyMap<number, number>;
  readonly admitted: number;
  readonly exhausted: number;
  readonly unavailable: number;
  readonly reports: number;
  /** Charged in the end, and by window what of it nobody told. */
  readonly untold: number;
  /** When the last request was admitted. */
  readonly lastAdmitted: number;
}

/** A generator of 32 bits of state, so that a seed is a run. */
export function randomOf(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
