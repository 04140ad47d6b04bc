/** Runs plans over rows with the restricted SQL engine. Loaded in the worker only. */

export { answerOf } from "./answer.ts";
export { StatementError } from "./budget.ts";
export type { Row } from "./engine.ts";
export { openMachine } from "./machine.ts";
