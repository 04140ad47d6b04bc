/**
 * A replicated state, a node's view of it, and ledgers of nodes that spend from it: the real ones, with a stopped
 * clock. A report is sent only when a test says so.
 */

import assert from "node:assert/strict";
import { createView } from "../../../../src/server/cluster/state-view.ts";
import {
  applyReportAnswer,
  type BudgetRule,
  bucketName,
  bucketOf,
  budgetRow,
  compileBudget,
  createLedger,
  flatDemand,
  type Ledger,
  type ReportAnswer,
  reserve,
  restart,
  settle,
  takeReport,
  windowAt,
} from "../../../../src/server/core/budgets/index.ts";
import { commands, type NamedCommand } from "../../../../src/server/core/state/index.ts";
import type { LedgerView } from "../../../../src/server/node/admin/governance-lists-port.ts";
import { type Bench, bench, member } from "../../core/state/harness.ts";

/** The beginning of a minute, an hour and a day. */
export const MIDNIGHT = 1_700_006_400_000;

export function ruleOf(name: string, limit: number, window: string, shared: boolean, limitRev = 1): BudgetRule {
  const compiled = compileBudget({ name, limit, window, shared }, limitRev, () => assert.fail("it has no expression"));
  assert.ok(compiled.kind === "rule");
  return compiled.rule;
}

export interface Spender {
  readonly ledger: Ledger;
  /** The ledger's view in the form that the port takes. */
  readonly known: LedgerView;
  /**
   * Reserves units of a bucket; returns a function that charges them. `principal` pays for a budget that is not shared.
   */
  hold(rule: BudgetRule, units: number, principal?: string): (units: number) => void;
  /** A report that only asks for more, bypassing the ledger. */
  ask(rule: BudgetRule, want: number, principal?: string): ReportAnswer;
  /** Sends and answers reports and requests for units. */
  exchange(): void;
  /** Acts like a restore: the process gets another start number. */
  restart(): void;
}

interface GovernedCluster {
  readonly at: Bench;
  readonly view: ReturnType<typeof createView>["view"];
  run(command: NamedCommand): unknown;
  /** Reloads the view from the state, as after a restore. */
  reload(): void;
  node(id: string): Spender;
}

export function createGovernedCluster(ids: readonly string[]): GovernedCluster {
  const at = bench({ members: ids.map((id) => member(id)) });
  at.now = MIDNIGHT;
  const { view, follow, beginReplace, add, endReplace } = createView((error) => assert.fail(String(error)));
  const run = (command: NamedCommand): unknown => {
    const { result, mutations, replacement } = at.apply(command);
    assert.ok(result?.kind === "ok", JSON.stringify(result));
    if (replacement !== undefined) reload();
    else follow(mutations, at.state.applied.index);
    return result.value;
  };
  function reload(): void {
    beginReplace();
    add([...at.state.scan("")]);
    endReplace(at.state.applied.index);
  }
  reload();

  return {
    at,
    view,
    run,
    reload,
    node(id) {
      const address = { raft_addr: "", forward_addr: "", version: "" };
      const p = { id, storage: "a".repeat(32), ...address, proto: [1, 1], feature: [1, 1] };
      const start = (): number => (run({ t: "node.start", v: 1, p }) as { incarnation: number }).incarnation;
      const ledger = createLedger(id, start());
      return {
        ledger,
        known: {
          now: () => at.now,
          row: (question) => budgetRow(ledger, question, at.now),
          buckets: () => ledger.buckets.keys(),
        },
        hold(rule, units, principal = "") {
          const bucket = bucketOf(ledger, bucketName(rule.name, rule.isShared, principal), rule);
          assert.ok(bucket !== undefined);
          const reservation = reserve(ledger, bucket, flatDemand(units), at.now);
          return (spent) => settle(ledger, reservation, spent, at.now);
        },
        ask({ name, isShared, windowMs, limit, limitRev }, want, principal = "") {
          const row = { window_ms: windowMs, limit, limit_rev: limitRev, spent: 0, want, ret: 0 };
          const bucket = { b: bucketName(name, isShared, principal), w: windowAt(at.now, windowMs) };
          const report = { node: id, inc: ledger.incarnation, rows: [{ ...row, ...bucket }] };
          const [answer] = (run(commands.usageReport(report)) as { rows: readonly ReportAnswer[] }).rows;
          return answer ?? assert.fail();
        },
        exchange() {
          for (let report = takeReport(ledger, at.now); report !== undefined; report = takeReport(ledger, at.now)) {
            const { node, inc, rows } = report;
            const value = run(commands.usageReport({ node, inc, rows })) as { rows: readonly ReportAnswer[] };
            applyReportAnswer(ledger, report, value.rows, at.now);
          }
        },
        restart: () => restart(ledger, start(), at.now),
      };
    },
  };
}
