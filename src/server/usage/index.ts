/**
 * Keeps usage by caller: sends it to the replicated ledger, reads it from there, and keeps the last requests.
 *
 * - `history/`: measurements of the last quarter of an hour and the last hour
 * - `requests/`: the last requests
 */

export type { MeteredRow } from "../core/state/index.ts";
export {
  createHistory,
  type History,
  type HistorySpan,
  HOUR,
  MAX_SERIES,
  type Point,
  QUARTER_HOUR,
} from "./history/index.ts";
export { meteredOfProvider, meteredOnDay } from "./metered.ts";
export { type LedgerOptions, type OpenLedger, openLedger, REPORT_EVERY_MS } from "./open-ledger.ts";
export { createNewest, type Newest } from "./requests/index.ts";
export type { AddOutcome, LedgerReports, Report } from "./types.ts";
