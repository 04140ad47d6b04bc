/**
 * Reconciliation: metered usage against the providers' own reports.
 *
 * - `fetch/`: reports of providers
 * - `judge/`: comparison of metered and billed usage
 */

export { type FetchedReport, fetchReport } from "./fetch/report.ts";
export { dayOf, startOfDay, windowAt } from "./judge/days.ts";
export { type Entry, verdictsOf } from "./judge/entry.ts";
export type { Metered, Scope, TokenClass, Verdict } from "./judge/judge-usage.ts";
export type { Round } from "./judge/round-entry.ts";
export { openReconcile, type Reconcile, type ReconcileOptions } from "./open-reconcile.ts";
export type { Breach, Leadership, LedgerChange, LedgerPut, LedgerRow, LedgerRows } from "./ports.ts";
export type { Ledger } from "./reconcile-ledger.ts";
