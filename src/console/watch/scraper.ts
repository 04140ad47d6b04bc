/** Scrapes the metrics page while a view needs it. The address of the page is independent of the admin endpoints. */

import { pause, systemClock } from "../../base/index.ts";
import type { ConsolePorts } from "../model/ports.ts";
import type { ReadIntervals } from "./intervals.ts";
import { advance, NO_SERIES, parseMetrics, type Scrape, type Series } from "./parse-metrics.ts";
import type { Entry } from "./readings.ts";

interface ScraperOptions {
  readonly url: string | undefined;
  readonly intervals: ReadIntervals;
  readonly scrape: ConsolePorts["scrape"];
  now(): number;
}

interface Scraper {
  /** Scrapes until the signal is aborted. Continues the earlier points. */
  watchMetrics(entry: Entry, signal: AbortSignal): Promise<void>;
}

/** Time limit for a port that does not keep its own, in milliseconds. */
const SCRAPE_LIMIT_MS = 6_000;

export function createScraper({ url, intervals, scrape, now }: ScraperOptions): Scraper {
  const { monotonic } = systemClock;
  let series: Series = NO_SERIES;

  async function scrapeOnce(from: string, signal: AbortSignal): Promise<Scrape> {
    const page = await withTimeLimit((ending) => scrape(from, ending), signal);
    const parsed = parseMetrics(page);
    if (parsed.kind === "refused") throw new Error(parsed.reason);
    return parsed.scrape;
  }

  return {
    async watchMetrics(entry, signal) {
      if (url === undefined) {
        entry.fail({ status: 0, code: "not_found", message: "No metrics address was given.", at: now() });
        return;
      }
      if (series.lastAt !== undefined) await pause(series.lastAt + intervals.scrapeMs - monotonic(), signal);
      while (!signal.aborted) {
        const begunAt = monotonic();
        let found: Scrape | undefined;
        let failure: unknown;
        try {
          found = await scrapeOnce(url, signal);
        } catch (error) {
          failure = error;
        }
        if (signal.aborted) return;
        series = advance(series, { scrape: found, at: begunAt, everyMs: intervals.scrapeMs });
        if (found !== undefined) entry.succeed(series.metrics);
        else entry.fail({ status: 0, code: "unreachable", message: failureText(failure), at: now() }, series.metrics);
        await pause(begunAt + intervals.scrapeMs - monotonic(), signal);
      }
    },
  };
}

async function withTimeLimit<T>(work: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
  const ending = new AbortController();
  const timedOut = new Promise<never>((_resolve, reject) => {
    ending.signal.addEventListener("abort", () => reject(new Error("no answer in time")), { once: true });
  });
  const end = (): void => ending.abort();
  const limit = setTimeout(end, SCRAPE_LIMIT_MS);
  signal.addEventListener("abort", end, { once: true });
  try {
    return await Promise.race([work(ending.signal), timedOut]);
  } finally {
    clearTimeout(limit);
    signal.removeEventListener("abort", end);
  }
}

const failureText = (error: unknown): string =>
  error instanceof Error ? error.message : "The page could not be read.";
