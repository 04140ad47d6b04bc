/** Connects the budget ledger of a worker, which borrows from the node's. */
import type { Clock, Instruments, Log } from "../../../base/index.ts";
import type { ReturnedShare, ShareName } from "../../core/budgets/index.ts";
import { type OpenBudgets, openBudgets, type UsageReports } from "../../dataplane/index.ts";
import type { Channel } from "../channel/index.ts";

/** Interval of reports that are not urgent, in milliseconds. It is the maximum age of the budgets that operators see. */
const REPORT_MS = 50;
/** Interval between checks of the cluster's state, in milliseconds. The end of an allowance is reported immediately. */
const CHECK_MS = 250;

/** Cluster state that a worker knows. */
interface ClusterState {
  readonly incarnation: number;
  readonly hasLeader: boolean;
  readonly logNow: number;
}

type Outcome = Awaited<ReturnType<UsageReports["report"]>>;

interface WorkerBudgetsOptions {
  readonly channel: Channel;
  readonly clock: Clock;
  readonly instruments: Instruments;
  readonly log: Log;
}

export function borrowBudgets({ channel, clock, instruments, log }: WorkerBudgetsOptions): OpenBudgets {
  const listeners = new Set<() => void>();
  let state: ClusterState = { incarnation: 0, hasLeader: false, logNow: 0 };
  channel.on("budgets.state", (body) => {
    const before = state.incarnation;
    state = body as ClusterState;
    if (state.incarnation !== before) for (const listener of [...listeners]) listener();
  });
  const budgets = openBudgets({
    node: "worker",
    clock,
    instruments,
    log,
    ledger: { borrows: true, reportMs: REPORT_MS },
    onForgotten: (names) => channel.send("budgets.forget", names),
    reports: {
      report: async (report, signal) => (await channel.ask("budgets.report", report, signal)) as Outcome,
      incarnation: () => state.incarnation,
      onIncarnation(listener) {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
      takesPledges: () => true,
      hasLeader: () => state.hasLeader,
      logNow: () => state.logNow,
    },
  });
  channel.answer("budgets.recall", (name) => budgets.giveBack(name as ShareName));
  return budgets;
}

export type BudgetClusterState = Pick<UsageReports, "incarnation" | "onIncarnation" | "hasLeader" | "logNow">;

/** Lends to a worker. Returns a function that must be called after the worker's last output was read. */
export function lendBudgets(channel: Channel, budgets: OpenBudgets, cluster: BudgetClusterState): () => void {
  const borrower = budgets.lendTo(
    async (name, signal) =>
      ((await channel.ask("budgets.recall", name, signal)) ?? undefined) as ReturnedShare | undefined,
  );
  channel.answer("budgets.report", (body, signal) =>
    borrower.report(body as Parameters<UsageReports["report"]>[0], signal),
  );
  channel.on("budgets.forget", (names) => borrower.forget(names as readonly ShareName[]));
  let lastState = "";
  const sendState = (): void => {
    const state: ClusterState = {
      incarnation: cluster.incarnation(),
      hasLeader: cluster.hasLeader(),
      logNow: cluster.logNow(),
    };
    const text = JSON.stringify(state);
    if (text === lastState) return;
    lastState = text;
    channel.send("budgets.state", state);
  };
  sendState();
  const unlisten = cluster.onIncarnation(sendState);
  const stateTimer = setInterval(sendState, CHECK_MS).unref();
  return () => {
    clearInterval(stateTimer);
    unlisten();
    borrower.end();
  };
}
