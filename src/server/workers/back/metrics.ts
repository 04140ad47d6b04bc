/**
 * What workers count, added to what the node counts: each series is the sum over all processes, and no label tells them
 * apart. A counter never falls: what a worker that is gone had told last stays in the sum.
 */
import {
  addReadings,
  type Instruments,
  type MergedInstruments,
  type Reading,
  type ReadingSource,
} from "../../../base/index.ts";
import type { Channel } from "../channel/index.ts";

const EVERY_MS = 1_000;
/** A scrape does not wait longer for a worker that is busy: it counts what that one told last. */
const SCRAPE_MS = 200;

/** Of the node alone: a worker's ledger of budgets is a part of the node's, and whoever asks when it started means the node. */
const OF_NODE: ReadonlySet<string> = new Set([
  "gateway_build_info",
  "process_start_time_seconds",
  "gateway_budget_buckets",
  "gateway_budget_held_units",
  "gateway_budget_reports_total",
  "gateway_budget_untold_units_total",
]);

/** Gives the end: what was counted until then is told. */
export function sendMetrics(channel: Channel, instruments: Pick<Instruments, "read">): () => void {
  const read = (): readonly Reading[] => instruments.read().filter(({ name }) => !OF_NODE.has(name));
  const tell = (): void => channel.send("metrics", read());
  const timer = setInterval(tell, EVERY_MS).unref();
  channel.answer("metrics.now", read);
  return () => {
    clearInterval(timer);
    tell();
  };
}

/** Gives the end, for when all that the worker wrote was taken. */
export function takeMetrics(channel: Channel, instruments: MergedInstruments): () => void {
  let last: readonly Reading[] = [];
  const source: ReadingSource = {
    read: () => last,
    async refresh() {
      last = (await channel.ask("metrics.now", null, AbortSignal.timeout(SCRAPE_MS))) as readonly Reading[];
    },
  };
  channel.on("metrics", (readings) => {
    last = readings as readonly Reading[];
  });
  const leave = instruments.join(source);
  return () => {
    leave();
    instruments.keep(addReadings([], last));
  };
}
