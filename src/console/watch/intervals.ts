/** Intervals, time limits and backoff of the console's reads. In milliseconds unless the name says otherwise. */

import { SCRAPE_MS } from "../model/data.ts";

/** Waits after consecutive failures, in milliseconds; the last one repeats. */
type BackoffMs = readonly [number, ...number[]];

export interface ReadIntervals {
  /** Maximum time for which the gateway holds back the answer to a blocking read. */
  readonly blockMs: number;
  /** Time limit from a request to the head of its answer; a blocking read gets `blockMs` more. */
  readonly headMs: number;
  /** Time limit from the head of an answer to its end. */
  readonly bodyMs: number;
  /** Time limit of the probe that checks whether an endpoint answers. */
  readonly probeMs: number;
  /** Time without an answer after which an endpoint is probed. */
  readonly silenceMs: number;
  /** Minimum pause between an answer and the next read of the same data. */
  readonly pauseMs: number;
  /** Minimum pause after a read, as a multiple of the time that handling its answer took. */
  readonly pauseFactor: number;
  /** Minimum interval between two reads that follow a changed list. */
  readonly followMs: number;
  /** Intervals of polled reads that change often (`pollMs`) and rarely (`rarePollMs`). */
  readonly pollMs: number;
  readonly rarePollMs: number;
  /** Waits of a read after consecutive failures; the last one repeats. */
  readonly backoffMs: BackoffMs;
  /** Waits after rounds in which no endpoint answered: short, so that a returning node is noticed quickly. */
  readonly reconnectMs: BackoffMs;
  /** Minimum time of service that makes an endpoint sound: its next failure counts as a first one. */
  readonly stableMs: number;
  /** Time for which unneeded values are kept. */
  readonly retentionMs: number;
  /** Minimum interval between updates of the freshness of pending blocking reads. */
  readonly freshnessMs: number;
  /** Minimum interval between reports of new data. */
  readonly reportMs: number;
  readonly scrapeMs: number;
}

export const READ_INTERVALS: ReadIntervals = {
  blockMs: 30_000,
  headMs: 10_000,
  /** Enough for 25 MB (100,000 keys) at a megabyte per second. */
  bodyMs: 30_000,
  probeMs: 4_000,
  silenceMs: 10_000,
  pauseMs: 500,
  pauseFactor: 10,
  followMs: 1_000,
  pollMs: 5_000,
  rarePollMs: 30_000,
  backoffMs: [1_000, 2_000, 4_000, 8_000, 15_000],
  reconnectMs: [500, 1_000, 2_000],
  stableMs: 15_000,
  retentionMs: 60_000,
  freshnessMs: 1_000,
  reportMs: 50,
  scrapeMs: SCRAPE_MS,
};

/** Returns the wait after a failure. `failures`: number of consecutive failures before it, from 0. */
export function waitAfter(failures: number, waits: BackoffMs): number {
  return waits[Math.min(failures, waits.length - 1)] ?? waits[0];
}
