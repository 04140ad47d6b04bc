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
export { type HeldTotals, openHeld, sendHeld } from "./held.ts";
export { sendLog, takeLog } from "./log.ts";
export { sendMetrics, takeMetrics } from "./metrics.ts";
export {
  sendFinished,
  sendKeyUse,
  sendRefusals,
  sendUse,
  takeFinished,
  takeKeyUse,
  takeRefusals,
  takeUse,
} from "./requests.ts";
export { fetchThrough, openSharedFetches, type SharedFetches } from "./shared-fetches.ts";
export { sendStatistics, takeStatistics, type WriteOnlyStatistics } from "./statistics.ts";
