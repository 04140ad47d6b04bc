/** Runs plans over rows with the restricted SQL engine. Loaded in the worker only. */

export { StatementError } from "./budget.ts";
export type { Row } from "./engine.ts";
export { formatAnswer } from "./format-rows.ts";
export { openPlanExecutor } from "./plan-executor.ts";
