/**
 * A usage report whose leader dies between its proposal and its answer: three real nodes, and a follower's real ledger.
 * Each request is counted once.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createInstruments, nullLog } from "../../../src/base/index.ts";
import type { Use } from "../../../src/server/core/budgets/index.ts";
import {
  COUNTS,
  commands,
  featureRowKey,
  LEDGER_LEVEL,
  NAMED_FIELDS,
  periodsOf,
  readFeatureLevel,
  scanPeriod,
} from "../../../src/server/core/state/index.ts";
import { ledgerReports } from "../../../src/server/node/governance/ledger-reports.ts";
import { openLedger } from "../../../src/server/usage/index.ts";
import { leaderOf, openTogether, options, type TestNode } from "../cluster/support/cluster-bench.ts";
import { until } from "../cluster/support/outcome.ts";

const USE: Use = {
  ...{ hop: "llm", caller: "team", profile: "", provider: "p", model: "m", kind: "tokens" },
  ...{ requests: 1, failed: 0, tokens: undefined, unmeasured: 0, units: 1 },
};
const REQUESTS = 250;

function requestsOn({ view }: TestNode): number {
  let requests = 0;
  for (const of of periodsOf(view)) {
    const rows = { scan: (prefix: string) => view.scan(prefix), get: (key: string) => view.get(key) };
    scanPeriod(rows, of, (row) => {
      requests += row[NAMED_FIELDS + COUNTS.indexOf("requests")] ?? 0;
    });
  }
  return requests;
}

test("a leader that goes between a report's proposal and its answer makes nothing count twice or not at all", async (t) => {
  const nodes = await openTogether(t, ["a", "b", "c"]);
  const leader = await leaderOf(nodes);
  const [reporter, other] = nodes.filter((node) => node !== leader);
  assert.ok(reporter !== undefined && other !== undefined);
  await until("every member is known to know the ledger", () => reporter.status().incarnation > 0, 30_000);
  if (readFeatureLevel(reporter.view.get(featureRowKey)) < LEDGER_LEVEL) {
    await leader.write(commands.featSet({ level: LEDGER_LEVEL }), options());
  }
  await until("the ledger is taken", () => ledgerReports(reporter, Date.now).takesReports(), 30_000);

  /** The leader dies as soon as it has applied the report: before or while its answer is sent. */
  let closing: Promise<unknown> | undefined;
  leader.view.watch("reported/", () => {
    closing ??= leader.close();
  });
  const ledger = openLedger({
    reports: ledgerReports(reporter, Date.now),
    now: Date.now,
    instruments: createInstruments(),
    log: nullLog,
    everyMs: 100,
  });
  for (let each = 0; each < REQUESTS; each += 1) ledger.add({ ...USE, caller: `c${each % 7}` });
  await until("the leader goes with the first report", () => closing !== undefined, 30_000);
  for (let each = 0; each < REQUESTS; each += 1) ledger.add({ ...USE, caller: `c${each % 7}` });
  await closing;
  for (const node of [reporter, other]) {
    await until(`${node.options.nodeId} has all`, () => requestsOn(node) >= 2 * REQUESTS, 60_000);
  }
  await ledger.close();
  await other.readBarrier({ timeoutMs: 20_000 });
  assert.deepEqual([reporter, other].map(requestsOn), [2 * REQUESTS, 2 * REQUESTS]);
});
