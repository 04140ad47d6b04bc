/** How often, how long and how soon again the console asks. Milliseconds, but where a name says otherwise. */

import { SCRAPE_MS } from "../model/data.ts";

/** Milliseconds; the last one from there on. */
export type Waits = readonly [number, ...number[]];

export interface Pace {
  /** A blocking read is answered after this at the latest. */
  readonly blockMs: number;
  /** From a request to the head of its answer, over `blockMs` where it blocks. */
  readonly headMs: number;
  /** From the head of an answer to its end. */
  readonly bodyMs: number;
  /** Of the one call that finds out whether a door answers. */
  readonly probeMs: number;
  /** A door that gave no answer for so long is probed. */
  readonly quietMs: number;
  /** Between an answer and the next read of the same thing. */
  readonly restMs: number;
  /** A read rests this many times as long as its last answer took to be handled. */
  readonly restFactor: number;
  /** Between two reads that a changed list brought about. */
  readonly followMs: number;
  /** Until what moves by itself is read again, and what hardly does. */
  readonly soonMs: number;
  readonly seldomMs: number;
  /** Waits of a read after failures in a row; the last one from there on. */
  readonly backoffMs: Waits;
  /** The same after rounds in which no door answered: short, so that who waits for a node sees it the moment it is back. */
  readonly reconnectMs: Waits;
  /** A door that served for so long is sound: its next failure counts as a first one. */
  readonly soundMs: number;
  /** Values that nobody needs any more are kept for so long. */
  readonly keepMs: number;
  /** Between two times at which pending blocking reads are said to be fresh. */
  readonly touchMs: number;
  /** Between two times at which new data is told. */
  readonly tellMs: number;
  readonly scrapeMs: number;
}

export const PACE: Pace = {
  blockMs: 30_000,
  headMs: 10_000,
  /** 25 MB, of 100,000 keys, at a megabyte a second. */
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

/** The wait after so many failures in a row, from 0. */
export function waitAfter(failures: number, waits: Waits): number {
  return waits[Math.min(failures, waits.length - 1)] ?? waits[0];
}
