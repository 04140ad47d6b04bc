/** Refusals of this node, for its operators and for the audit trail. */

export { type BudgetRecords, recordBudgets } from "./budget-records.ts";
export {
  type CountedRefusal,
  causeOf,
  createRefusals,
  MAX_UNKNOWN_KEYS,
  type Refusal,
  type Refusals,
} from "./refusals.ts";
