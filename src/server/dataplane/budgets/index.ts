/** Budgets of this node: the ledger and its interface for requests. */
export { type BudgetsOptions, openBudgets } from "./open-budgets.ts";
export type {
  BorrowingProcess,
  Budgets,
  Charge,
  OpenBudgets,
  ReportOutcome,
  SessionCharge,
  Spending,
  UsageReport,
  UsageReports,
} from "./types.ts";
