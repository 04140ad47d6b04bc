/** Records of this node's traffic that are kept in memory: the data plane fills them, and the admin plane shows them. */
import { type Lifetime, systemClock } from "../../base/index.ts";
import {
  type BudgetRecords,
  createRefusals,
  createStatistics,
  type GovernancePorts,
  recordBudgets,
} from "../dataplane/index.ts";
import { createControlDecisions } from "./admin/control-decisions.ts";
import { createRequests } from "./admin/requests-port.ts";
import { openRecordStore } from "./rehearsal/rehearsals-port.ts";
import type { DataPlaneBounds } from "./start.ts";

export type TrafficRecords = ReturnType<typeof createTrafficRecords>;

export function createTrafficRecords({ rehearsalMemory }: DataPlaneBounds) {
  let budgetRecords: BudgetRecords | undefined;
  return {
    statistics: createStatistics(systemClock),
    refusals: createRefusals(systemClock, (refusal) => budgetRecords?.add(refusal)),
    requests: createRequests(),
    /** Records for rehearsals; `undefined` if none are kept. */
    records: openRecordStore(rehearsalMemory),
    /** Decisions by control. */
    decisions: createControlDecisions(),
    /** Records refusals by budgets in the audit trail from now on; `owner` closes the record. */
    recordBudgets(trail: NonNullable<GovernancePorts["trail"]>, owner: Lifetime): void {
      budgetRecords = owner.own("record of budgets", recordBudgets(trail), (it) => it.close());
    },
  };
}
