/**
 * Reconciliation: metered usage against the providers' own reports.
 *
 * - `fetch/`: reports of providers
 * - `judge/`: comparison of metered and billed usage
 */

export { type FetchedReport, fetchReport } from "./fetch/fetch-report.ts";
export { dayOf, lookbackWindow, startOfDay } from "./judge/days.ts";
export type { MeteredUsage, Scope, TokenClass, Verdict } from "./judge/judge-usage.ts";
export { type LedgerEntry, verdictsOf } from "./judge/ledger-entry.ts";
export type { Round } from "./judge/round-entry.ts";
export { openReconciler, type Reconciler, type ReconcilerOptions } from "./open-reconciler.ts";
export type { Breach, Leadership, LedgerChange, LedgerPut, LedgerRow, LedgerRows } from "./ports.ts";
export type { Ledger } from "./reconcile-ledger.ts";
