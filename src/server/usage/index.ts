/**
 * Keeps usage by caller: sends it to the replicated ledger, reads it from there, and keeps the last requests and the
 * measurements of the last hour.
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
} from "./history-rings.ts";
export { meteredOfProvider, meteredOnDay } from "./metered.ts";
export { createNewestRows, type NewestRows } from "./newest.ts";
export { type LedgerOptions, type OpenLedger, openLedger, REPORT_EVERY_MS } from "./open-ledger.ts";
export type { AddOutcome, LedgerReports, Report } from "./types.ts";
