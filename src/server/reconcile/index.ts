/**
 * Reconciliation: metered usage against the providers' own reports.
 *
 * - `fetch/`: reports of providers
 * - `judge/`: comparison of metered and billed usage
 */

export { fetchReport } from "./fetch/fetch-report.ts";
export { lookbackWindow } from "./judge/days.ts";
export type { MeteredUsage } from "./judge/judge-usage.ts";
export { type LedgerEntry, verdictsOf } from "./judge/ledger-entry.ts";
export { openReconciler, type Reconciler } from "./open-reconciler.ts";
export type { Breach, Leadership, LedgerRows } from "./ports.ts";
export type { Ledger } from "./reconcile-ledger.ts";
