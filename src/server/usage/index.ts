/**
 * Keeps usage by caller: sends it to the replicated ledger, reads it from there, and keeps the last requests and the
 * measurements of the last hour.
 */

export { createHistory, type History, HOUR, MAX_SERIES, type Point, QUARTER_HOUR } from "./history-rings.ts";
export { meteredOfProvider } from "./metered.ts";
export { createNewestRows } from "./newest.ts";
export { openLedger } from "./open-ledger.ts";
export type { AddOutcome, LedgerReports } from "./types.ts";
