/** Intervals, time limits and backoff of the console's reads. In milliseconds unless the name says otherwise. */

import { SCRAPE_MS } from "../model/data.ts";

/** Waits after consecutive failures, in milliseconds; the last one repeats. */
type Waits = readonly [number, ...number[]];

export interface Pace {
  /** Maximum time for which the gateway holds back the answer to a blocking read. */
  readonly blockMs: number;
  /** Time limit from a request to the head of its answer; a blocking read gets `blockMs` more. */
  readonly headMs: number;
  /** Time limit from the head of an answer to its end. */
  readonly bodyMs: number;
  /** Time limit of the probe that checks whether an endpoint answers. */
  readonly probeMs: number;
  /** Time without an answer after which an endpoint is probed. */
  readonly quietMs: number;
  /** Minimum pause between an answer and the next read of the same data. */
  readonly restMs: number;
  /** Minimum pause after a read, as a multiple of the time that handling its answer took. */
  readonly restFactor: number;
  /** Minimum interval between two reads that follow a changed list. */
  readonly followMs: number;
  /** Intervals of polled reads that change often (`soonMs`) and rarely (`seldomMs`). */
  readonly soonMs: number;
  readonly seldomMs: number;
  /** Waits of a read after consecutive failures; the last one repeats. */
  readonly backoffMs: Waits;
  /** Waits after rounds in which no endpoint answered: short, so that a returning node is noticed quickly. */
  readonly reconnectMs: Waits;
  /** Minimum time of service that makes an endpoint sound: its next failure counts as a first one. */
  readonly soundMs: number;
  /** Time for which unneeded values are kept. */
  readonly keepMs: number;
  /** Minimum interval between updates of the freshness of pending blocking reads. */
  readonly touchMs: number;
  /** Minimum interval between reports of new data. */
  readonly tellMs: number;
  readonly scrapeMs: number;
}

export const PACE: Pace = {
  blockMs: 30_000,
  headMs: 10_000,
  /** Enough for 25 MB (100,000 keys) at a megabyte per second. */
  bodyMs: 30_000,
  probeMs: 4_000,
  quietMs: 10_000,
  restMs: 500,
  restFactor: 10,
  followMs: 1_000,
  soonMs: 5_000,
  seldomMs: 30_000,
  backoffMs: [1_000, 2_000, 4_000, 8_000, 15_000],
  reconnectMs: [500, 1_000, 2_000],
  soundMs: 15_000,
  keepMs: 60_000,
  touchMs: 1_000,
  tellMs: 50,
  scrapeMs: SCRAPE_MS,
};

/** Returns the wait after a failure. `failures`: number of consecutive failures before it, from 0. */
export function waitAfter(failures: number, waits: Waits): number {
  return waits[Math.min(failures, waits.length - 1)] ?? waits[0];
}
