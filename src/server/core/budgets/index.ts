/**
 * Budgets: windows, costs, and a node's ledger that works from allowances. Pure.
 *
 * A request calls `bucketOf`, `estimate` and `reserve`; then `chargeRunning` while the answer is streamed, `startNextAttempt` between
 * attempts, and one of `settle`, `abort` and `release`. The owner of the ledger passes `now` to every call, the later of its
 * clock and log time. After each call, and every `TICK_MS` after `tick`, it forwards what `takeDecided` returns, and sends what
 * `takeReport` returns as a `usage.report`, whose result goes to `answered` or `lost`. It calls `restart` when its process gets
 * a new incarnation number. At the end it calls `returnAll` and reports once more.
 */

export { addUsage, NO_USAGE, type Usage } from "../dialects/index.ts";
export { type BucketRowInput, type BudgetRow, budgetRow } from "./budget-rows.ts";
export { type BudgetRule, bucketName, compileBudget, type Limit } from "./budget-rules.ts";
export { MAX_WINDOW_MS, MIN_WINDOW_MS, resetsAt, secondsUntil, windowAt, windowLength } from "./budget-windows.ts";
export { abort, chargeRunning, release, STREAM_CHARGE_TOKENS, settle, startNextAttempt } from "./charging.ts";
export {
  type CompileCost,
  type CostFunction,
  type CostType,
  type CostValue,
  type CostVariables,
  expressionCost,
  type PriceTarget,
  type TokenClass,
  tokenCost,
} from "./cost-expression.ts";
export { wholeUnits } from "./cost-units.ts";
export {
  type Averages,
  averageOf,
  createAverages,
  type Demand,
  estimate,
  flatDemand,
  observeCost,
  type TokenBounds,
} from "./estimate.ts";
export {
  type Bucket,
  bucketOf,
  createLedger,
  freeOf,
  type Ledger,
  type LedgerCounts,
  type LedgerOptions,
  MAX_BUCKETS,
  type Reservation,
  type Share,
} from "./ledger.ts";
export { type ReturnedShare, returnAll, returnSpare, type ShareName, TICK_MS, tick } from "./ledger-timeouts.ts";
export {
  applyRecallAnswer,
  type Borrower,
  borrow,
  borrowersToRecall,
  decideLoanRequests,
  endBorrower,
  endLoan,
  forgetLoans,
  type LoanRequest,
  loanAnswer,
  markRecalled,
  nameOfShare,
  openBorrower,
} from "./lending.ts";
export type { Use } from "./reported-usage.ts";
export {
  applyReportAnswer,
  giveUpReport,
  hasUrgentReport,
  type Report,
  type ReportAnswer,
  type ReportRow,
  reportSoon,
  restart,
  takeReport,
} from "./reporting.ts";
export { type BudgetRefusal, refusalOf, reserve, takeDecided, UNAVAILABLE, WAIT_MS } from "./reserving.ts";
