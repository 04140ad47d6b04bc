/** Reports data of workers to their node process. */
export { type BudgetClusterState, borrowBudgets, lendBudgets } from "./budgets.ts";
export { answerCatchUp, catchUp } from "./catch-up.ts";
export {
  decodeChunk,
  encodeChunk,
  type JsonChunk,
  sendRequestRecords,
  takeRequestRecords,
} from "./decisions.ts";
export { sendFailures, takeFailures } from "./failures.ts";
export { sendLog, takeLog } from "./log.ts";
export { sendMetrics, takeMetrics } from "./metrics.ts";
export {
  sendFinished,
  sendKeyUse,
  sendRefusals,
  sendUsage,
  takeFinished,
  takeKeyUse,
  takeRefusals,
  takeUsage,
} from "./requests.ts";
export { openReservations, type ReservationTotals, sendReservations } from "./reservations.ts";
export { fetchThroughNode, openSharedFetches, type SharedFetches } from "./shared-fetches.ts";
export { sendStatistics, takeStatistics, type WriteOnlyStatistics } from "./statistics.ts";
