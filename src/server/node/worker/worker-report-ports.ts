/** Handles reports of workers in the node process, each with the component that a single-process node has for it. */
import type { Log, MergedInstruments } from "../../../base/index.ts";
import type { AuditTrail, FailureSampler } from "../../audit/index.ts";
import type { Callers } from "../../auth/index.ts";
import type { RecordStore } from "../../core/rehearsal/index.ts";
import type { OpenBudgets, Refusals, Statistics, SummarySink, UsageLedger } from "../../dataplane/index.ts";
import type { AskSession, SessionQuestion } from "../../snapshot/index.ts";
import {
  type BudgetClusterState,
  type Channel,
  feedNodeState,
  lendBudgets,
  type NodeStateSource,
  type ReservationTotals,
  type SharedFetches,
  takeFailures,
  takeFinished,
  takeKeyUse,
  takeLog,
  takeMetrics,
  takeRefusals,
  takeRequestRecords,
  takeStatistics,
  takeUsage,
} from "../../workers/index.ts";
import type { ControlDecisions } from "../admin/control-decisions.ts";

export interface WorkerReportPorts {
  readonly budgets: OpenBudgets;
  readonly cluster: BudgetClusterState;
  readonly state: NodeStateSource;
  readonly trail: AuditTrail;
  readonly failures: FailureSampler;
  readonly controls: Pick<ControlDecisions, "add">;
  readonly callers: Pick<Callers, "recordUse">;
  readonly ledger: UsageLedger;
  readonly statistics: Statistics;
  readonly refusals: Refusals;
  readonly finished: SummarySink;
  /** Records for rehearsals; `undefined` if changes are not rehearsed. */
  readonly records: RecordStore | undefined;
  readonly held: ReservationTotals;
  readonly fetches: SharedFetches;
  readonly askSession: AskSession;
  readonly instruments: MergedInstruments;
  readonly log: Log;
}

/**
 * Handles the reports of one worker. `number`: number of the worker. Returns a cleanup function for after the worker has exited
 * and all its output was read.
 */
export function connectWorkerPorts(channel: Channel, number: number, ports: WorkerReportPorts): () => void {
  takeLog(channel, ports.log, number);
  takeFailures(channel, ports.failures);
  takeRefusals(channel, ports.refusals);
  takeFinished(channel, ports.finished);
  takeRequestRecords(channel, ports.records);
  takeUsage(channel, ports.ledger);
  takeKeyUse(channel, (id, at) => ports.callers.recordUse(id, at));
  channel.answer("session", (question, signal) => ports.askSession(question as SessionQuestion, signal));
  const ends = [
    feedNodeState(channel, ports.state),
    takeMetrics(channel, ports.instruments),
    takeStatistics(channel, ports.statistics),
    ports.held.take(channel),
    ports.fetches.serve(channel),
    lendBudgets(channel, ports.budgets, ports.cluster),
  ];
  return () => {
    for (const end of ends) end();
  };
}
