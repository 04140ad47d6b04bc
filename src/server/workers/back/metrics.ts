/**
 * Adds metrics of workers to those of the node. Each series is the sum over all processes, without a label per process. A counter
 * never decreases: the last report of a worker that has exited stays in the sum.
 */
import {
  addReadings,
  type InstrumentReading,
  type Instruments,
  type MergedInstruments,
  type ReadingSource,
} from "../../../base/index.ts";
import type { Channel } from "../channel/index.ts";

const EVERY_MS = 1_000;
/** Maximum time that a scrape waits for a busy worker, in milliseconds. After it the worker's last report is used. */
const SCRAPE_MS = 200;

/** Metrics that only the node reports: a worker's budget ledger is part of the node's, and the start time is the node's. */
const NODE_ONLY_METRICS: ReadonlySet<string> = new Set([
  "gateway_build_info",
  "process_start_time_seconds",
  "gateway_budget_buckets",
  "gateway_budget_held_units",
  "gateway_budget_reports_total",
  "gateway_budget_untold_units_total",
]);

/** Sends the metrics of a worker. Returns a function that stops it after a last report. */
export function sendMetrics(channel: Channel, instruments: Pick<Instruments, "read">): () => void {
  const read = (): readonly InstrumentReading[] =>
    instruments.read().filter(({ name }) => !NODE_ONLY_METRICS.has(name));
  const sendNow = (): void => channel.send("metrics", read());
  const timer = setInterval(sendNow, EVERY_MS).unref();
  channel.answer("metrics.now", read);
  return () => {
    clearInterval(timer);
    sendNow();
  };
}

/** Receives the metrics of a worker. Returns a function that must be called after the worker's last output was read. */
export function takeMetrics(channel: Channel, instruments: MergedInstruments): () => void {
  let last: readonly InstrumentReading[] = [];
  const source: ReadingSource = {
    read: () => last,
    async refresh() {
      last = (await channel.ask("metrics.now", null, AbortSignal.timeout(SCRAPE_MS))) as readonly InstrumentReading[];
    },
  };
  channel.on("metrics", (readings) => {
    last = readings as readonly InstrumentReading[];
  });
  const leave = instruments.addSource(source);
  return () => {
    leave();
    instruments.addDeparted(addReadings([], last));
  };
}
