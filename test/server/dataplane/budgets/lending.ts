/**
 * One node with several processes that borrow from its ledger, in one test: the node's reports go to the real
 * replicated state machine, and those of the processes to the node after a delay chosen by the test.
 */
import assert from "node:assert/strict";
import { setImmediate as turn } from "node:timers/promises";
import { createInstruments, nullLog } from "../../../../src/base/index.ts";
import { TICK_MS } from "../../../../src/server/core/budgets/index.ts";
import {
  type BorrowingProcess,
  type OpenBudgets,
  openBudgets,
  type ReportOutcome,
} from "../../../../src/server/dataplane/budgets/index.ts";
import type { Cluster } from "../../core/budgets/cluster.ts";
import { openNode, type TestNode } from "./support.ts";

interface Borrower {
  readonly budgets: OpenBudgets;
  /** Charged above reservations. */
  excess(): number;
  /** Kills it: nothing more comes from it, and what it sent was read. */
  kill(): void;
  /** It neither reports nor returns what it is asked for. */
  isStopped: boolean;
  /** It continues, but its reports and their answers are delayed. */
  isDelayed: boolean;
}

export interface LendingNode {
  readonly node: TestNode;
  /** Living processes. */
  readonly borrowers: Borrower[];
  add(): Borrower;
  /** Runs a tick of all, then delivers everything that is sent until nothing is. */
  step(): Promise<void>;
  settle(): Promise<void>;
  renumber(): void;
}

export function openLendingNode(
  cluster: Cluster,
  { processes, delays = () => false }: { readonly processes: number; readonly delays?: () => boolean },
): LendingNode {
  const node = openNode(cluster, "n1");
  const ticks = new Map<Borrower, () => void>();
  const renumbered = new Set<() => void>();
  let incarnation = 1;
  const borrowers: Borrower[] = [];

  const add = (): Borrower => {
    const instruments = createInstruments();
    const queue: (() => void)[] = [];
    let isDead = false;
    const linked: BorrowingProcess = node.budgets.lendTo(async (name, signal) => {
      // The recall from a process that hangs times out.
      if (self.isStopped) throw signal.reason ?? new Error("no answer");
      return isDead ? undefined : (JSON.parse(JSON.stringify(self.budgets.giveBack(name) ?? null)) ?? undefined);
    });
    const budgets = openBudgets({
      node: "a process",
      clock: { now: () => cluster.now, monotonic: () => cluster.now },
      instruments,
      log: nullLog,
      ledger: { borrows: true, reportMs: TICK_MS },
      onForgotten: (names) => linked.forget(names),
      every(_, run) {
        ticks.set(self, run);
        return () => ticks.delete(self);
      },
      reports: {
        incarnation: () => incarnation,
        onIncarnation(listener) {
          renumbered.add(listener);
          return () => renumbered.delete(listener);
        },
        takesPledges: () => true,
        hasLeader: () => true,
        logNow: () => cluster.state.applied.now,
        async report(report, signal): Promise<ReportOutcome> {
          const sent = JSON.stringify(report);
          if (delays() || self.isStopped || self.isDelayed) await new Promise<void>((resolve) => queue.push(resolve));
          if (isDead) return await new Promise(() => undefined);
          const outcome = await linked.report(JSON.parse(sent), signal);
          if (delays() || self.isStopped || self.isDelayed) await new Promise<void>((resolve) => queue.push(resolve));
          if (isDead) return await new Promise(() => undefined);
          return JSON.parse(JSON.stringify(outcome)) as ReportOutcome;
        },
      },
    });
    const self: Borrower = {
      budgets,
      isStopped: false,
      isDelayed: false,
      excess: () => readingOf(instruments, "gateway_budget_excess_units_total"),
      kill() {
        isDead = true;
        ticks.delete(self);
        borrowers.splice(borrowers.indexOf(self), 1);
        linked.end();
      },
    };
    borrowers.push(self);
    deliveries.set(self, () => {
      if (!self.isStopped && !self.isDelayed) for (const go of queue.splice(0)) go();
    });
    return self;
  };
  const deliveries = new Map<Borrower, () => void>();

  const settle = async (): Promise<void> => {
    for (let round = 0; round < 12; round += 1) {
      for (const deliver of deliveries.values()) deliver();
      await turn();
      await turn();
      await node.exchange();
    }
  };
  for (let count = 0; count < processes; count += 1) add();
  return {
    node,
    borrowers,
    add,
    settle,
    async step() {
      cluster.now += TICK_MS;
      for (const [borrower, run] of [...ticks]) if (!borrower.isStopped) run();
      await node.tick();
      await settle();
    },
    renumber() {
      node.renumber();
      incarnation += 1;
      for (const listener of [...renumbered]) listener();
    },
  };
}

function readingOf(instruments: ReturnType<typeof createInstruments>, name: string): number {
  const reading = instruments.read().find((one) => one.name === name);
  assert.ok(reading !== undefined && reading.kind !== "histogram");
  return reading.series.reduce((sum, { value }) => sum + value, 0);
}
