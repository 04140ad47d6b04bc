/** Settings of one simulation run, and its results. */
export interface Plan {
  readonly seed: number;
  readonly limit: number;
  readonly windowMs: number;
  readonly lengthMs: number;
  /** Requests per second of each node. */
  readonly load: readonly number[];
  /** Clock offset of each node, in milliseconds. */
  readonly skew: readonly number[];
  /** Whether reservations are bounds of the cost. */
  readonly isHard: boolean;
  /** Probability of losing a report, and of losing an answer. */
  readonly loss: number;
  readonly doubling: number;
  readonly delayMs: number;
  /** Restarts of each node per second. */
  readonly restarts: number;
  /** Probability of having no leader for half a second. */
  readonly leaderless: number;
  readonly changesLimit: boolean;
  /** Probability that a request fails after a third and is retried. */
  readonly retries: number;
  /** A node with a clock behind the time of the log uses the log. */
  readonly readsLog: boolean;
  /** Reports say how much the node may spend before the next. */
  readonly pledges: boolean;
  /** Rate of each node's clock, with which it measures a lease; 1 if omitted. */
  readonly pace?: readonly number[];
  /** Times and durations at which one of these nodes is isolated, or dies and is not restarted. */
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
  /** Charge by window number. */
  readonly charged: ReadonlyMap<number, number>;
  readonly excess: ReadonlyMap<number, number>;
  readonly admitted: number;
  readonly exhausted: number;
  readonly unavailable: number;
  readonly reports: number;
  /** Charged in the end without any report, by window. */
  readonly untold: number;
  /** Time of the last admission. */
  readonly lastAdmitted: number;
}

/** A generator with 32 bits of state, so that a seed determines a run. */
export function randomOf(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
