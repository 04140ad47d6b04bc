/**
 * Nodes with ledgers around one replicated state machine, the real one, so that a test only says which node asks for
 * what, and when. Time stands still except for `pass`; a report is sent only when a test says so.
 */

import assert from "node:assert/strict";
import {
  applyReportAnswer,
  type Bucket,
  bucketOf,
  createLedger,
  type Demand,
  flatDemand,
  freeOf,
  type Ledger,
  type Limit,
  type Report,
  type ReportAnswer,
  type Reservation,
  reserve,
  restart,
  type Share,
  takeReport,
  tick,
  windowAt,
} from "../../../../src/server/core/budgets/index.ts";
import {
  type CommandResult,
  commands,
  type HoldingRow,
  readHolding,
  readUsage,
  type State,
  type UsageRow,
  usageRowKey,
} from "../../../../src/server/core/state/index.ts";
import { bench, member } from "../state/harness.ts";

export const MINUTE = 60_000;
/** The beginning of a minute, an hour and a day. */
export const START = 1_700_006_400_000;
export const BUCKET = "b/team";

export interface Cluster {
  readonly state: State;
  /** Time of the leader. */
  now: number;
  /** Starts a process of the node and returns its start number. */
  start(node: string): number;
  apply(report: Report): CommandResult;
  /** Applies the report and returns its answer; it must not be refused. */
  answer(report: Report): readonly ReportAnswer[];
}

export function createCluster(nodes: readonly string[]): Cluster {
  const at = bench({ members: nodes.map((id) => member(id)) });
  at.now = START;
  const address = { raft_addr: "", forward_addr: "", version: "" };
  const self: Cluster = {
    state: at.state,
    get now() {
      return at.now;
    },
    set now(now) {
      at.now = now;
    },
    start(id) {
      const p = { id, storage: "a".repeat(32), ...address, proto: [1, 1], feature: [1, 1] };
      return (at.ok({ t: "node.start", v: 1, p }) as { incarnation: number }).incarnation;
    },
    apply: ({ node, inc, rows }) => at.run(commands.usageReport({ node, inc, rows })),
    answer(report) {
      const result = self.apply(report);
      assert.equal(result.kind, "ok");
      return result.kind === "ok" ? (result.value as { rows: readonly ReportAnswer[] }).rows : [];
    },
  };
  return self;
}

export const usageOf = (state: State, now: number, windowMs = MINUTE, bucket = BUCKET): UsageRow | undefined => {
  const row = state.get(usageRowKey({ bucket, window_ms: windowMs, window: windowAt(now, windowMs) }));
  return row === undefined ? undefined : readUsage(row);
};

export const holdingsOf = (state: State): readonly HoldingRow[] =>
  Array.from(state.scan("alloc/"), ([, value]) => readHolding(value));

export const limitOf = (limit: number, windowMs = MINUTE, limitRev = 1): Limit => ({ limit, windowMs, limitRev });

/** One node of a cluster with short method names. */
export interface Node {
  readonly cluster: Cluster;
  readonly ledger: Ledger;
  limit: Limit;
  /** This node's clock and the leader's. */
  readonly now: number;
  bucket(name?: string): Bucket;
  /** Returns null if the node holds nothing in the current window. */
  share(name?: string): Share | null;
  free(name?: string): number;
  /** Row of the bucket in the cluster for the current window. */
  usage(name?: string): UsageRow | undefined;
  take(units: number | Demand, name?: string): Reservation;
  /** Sends and answers all pending reports; returns their number. */
  exchange(): number;
  pass(ms: number): void;
  restart(): void;
}

export function createNode(cluster: Cluster, id = "n1", limit: Limit = limitOf(1_000)): Node {
  const ledger = createLedger(id, cluster.start(id));
  ledger.pledges = true;
  const self: Node = {
    cluster,
    ledger,
    limit,
    get now() {
      return cluster.now;
    },
    bucket(name = BUCKET) {
      const bucket = bucketOf(ledger, name, self.limit);
      assert.ok(bucket !== undefined);
      return bucket;
    },
    share: (name) => self.bucket(name).shares.get(windowAt(self.now, self.limit.windowMs)) ?? null,
    free(name) {
      const share = self.share(name);
      return share === null ? 0 : freeOf(share);
    },
    usage: (name = BUCKET) => usageOf(cluster.state, self.now, self.limit.windowMs, name),
    take(units, name) {
      const demand = typeof units === "number" ? flatDemand(units) : units;
      return reserve(ledger, self.bucket(name), demand, self.now);
    },
    exchange() {
      let reports = 0;
      for (let report = takeReport(ledger, self.now); report !== undefined; report = takeReport(ledger, self.now)) {
        applyReportAnswer(ledger, report, cluster.answer(report), self.now);
        reports += 1;
        assert.ok(reports < 1_000, "asks without end");
      }
      return reports;
    },
    pass(ms) {
      cluster.now += ms;
      tick(ledger, cluster.now);
    },
    restart: () => restart(ledger, cluster.start(id), cluster.now),
  };
  return self;
}
