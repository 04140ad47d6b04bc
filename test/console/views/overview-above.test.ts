/** Content above the alerts, at the sizes of terminals. */

import assert from "node:assert/strict";
import test from "node:test";
import { cellsOf } from "../../../src/base/index.ts";
import type { Data } from "../../../src/console/model/data.ts";
import { textOfLine } from "../../../src/console/model/text.ts";
import { tableRegions } from "../../../src/console/store/layout.ts";
import { overviewView } from "../../../src/console/views/overview.ts";
import { overviewAbove } from "../../../src/console/views/overview-above.ts";
import { auditRecord, budget, contextOf, INCIDENT, member, NOW, STATUS } from "./traffic-fixtures.ts";

test("members, traffic and recent changes are above the table", () => {
  const facts = { action: "reload_config", resource: 'Config::"config"', principal: "unix:1000", outcome: "done" };
  const context = contextOf({
    ...INCIDENT,
    get_status: STATUS,
    list_audit_records: [1, 2, 3, 4].map((seq) => auditRecord(seq, facts)),
  });
  assert.deepEqual(
    overviewAbove(context, { columns: 116, rows: 9 }).map((line) => textOfLine(line).trimEnd()),
    [
      "CLUSTER  3 voters, quorum 2, tolerates the loss of 1      TRAFFIC  of all 3 nodes, last 60 s, attempts at providers",
      "NODE           ROLE     STATE        LAST  APPLIED  LAG   attempts  21.5/s",
      "n1 *           leader   reachable       -    88412    0   failed    7.6/s  35.3 %",
      "n2             follower reachable   400ms    88412    0   in flight 25",
      "n3             follower reachable   400ms    88412    3   retried   411 retries, 398 failovers",
      "RECENT ADMIN CHANGES  through any node; :changes has more",
      "13:45:31Z  unix:1000  reload the deployment document  done",
      "13:45:30Z  unix:1000  reload the deployment document  done",
    ],
  );
});

/** Fifteen minutes of one provider. */
const HISTORY = Array.from({ length: 90 }, (_, at) => ({
  time: new Date(NOW - (90 - at) * 10_000).toISOString(),
  kind: "backends" as const,
  name: "acme-chat",
  attempts: at,
  failures: at % 7,
  in_flight: 3,
}));

/** Number of alerts that stay visible however much is shown around them, on terminals that are not small. */
const MIN_ALERT_ROWS = 7;

test("a larger terminal shows more above the table: members at 80x24, higher charts at 120x35, four panels at 200x60", () => {
  const records = [1, 2, 3].map((seq) => auditRecord(seq, { action: "reload_config", outcome: "done" }));
  const rows = {
    ...INCIDENT,
    list_budgets: [budget("team-research"), budget("mcp-calls")],
    get_status: STATUS,
    list_audit_records: records,
  };
  const context = contextOf({ ...rows, list_history: HISTORY as never });
  const at = (columns: number, rows: number): readonly string[] => {
    const above = tableRegions({ columns, rows }, overviewView).above;
    return overviewAbove(context, { columns: columns - 4, rows: above }).map((line) => textOfLine(line).trimEnd());
  };
  assert.deepEqual(at(60, 16), []);
  const small = at(80, 24);
  assert.equal(small.length, 5);
  assert.match(small[0] ?? "", /^CLUSTER {2}3 voters/);
  assert.match(small[4] ?? "", /^n3 +follower/);
  const charted = at(120, 35);
  assert.equal(charted.length, 11);
  const blocks = charted.filter((text) => /[▁-█]{3}(?: [\d.]+\/s)?$/.test(text));
  assert.equal(blocks.length, 3, charted.join("\n"));
  assert.match(charted.join("\n"), /RECENT ADMIN CHANGES/);
  const large = at(200, 60);
  assert.ok(large.length > charted.length, large.join("\n"));
  for (const panel of [/^CLUSTER.* TRAFFIC/m, /^BUDGETS.* RECENT ADMIN CHANGES/m, /[█░#.]{20} +!?~?[\d.]+ %/]) {
    assert.match(large.join("\n"), panel);
  }
  for (const line of large) assert.ok(cellsOf(line) <= 196, line);
  for (const [columns, rows] of [
    [72, 22],
    [100, 30],
    [130, 34],
    [170, 50],
    [300, 100],
  ] as const) {
    const regions = tableRegions({ columns, rows }, overviewView);
    assert.ok(regions.above > 0 && regions.rows >= Math.min(regions.above - 1, MIN_ALERT_ROWS), `${columns}x${rows}`);
  }
});

test("known metrics are above the table, with gaps", () => {
  const metrics = {
    requests: [0, null, 41.2],
    errors: [0, 0, 0.4],
    inFlight: [30, 37, null],
    overhead: { p50: 1.9, p95: 6.1, p99: 14 },
  };
  const lines = overviewAbove(contextOf({ ...INCIDENT, metrics }), { columns: 116, rows: 6 }).map(textOfLine);
  assert.match(lines[0] ?? "", /TRAFFIC {2}from the metrics page$/);
  assert.match(lines[1] ?? "", /requests {2}41\.2\/s {5}_ \+ 41\.2\/s$/);
  assert.match(lines[3] ?? "", /in flight -/);
  assert.match(lines[4] ?? "", /overhead {2}p50 1\.9ms {2}p95 6\.1ms {2}p99 14ms$/);
});

test("an unreadable metrics page is reported, and the lists are charted instead", () => {
  const context = contextOf(INCIDENT);
  const unread = { code: "unreachable", status: 0, message: "refused", at: 0 };
  const reading = { value: undefined, freshAt: undefined, requestedAt: 0, failure: unread };
  const data: Data = { get: (need) => (need.id === "metrics" ? reading : context.data.get(need)) };
  const lines = overviewAbove({ ...context, data }, { columns: 116, rows: 9 }).map(textOfLine);
  assert.match(lines[0] ?? "", /TRAFFIC {2}! the metrics page cannot be read$/);
  assert.match(lines[1] ?? "", /attempts {2}21\.5\/s/);
});

test("names that differ only at the end stay distinguishable, and this node is marked", () => {
  const members = [member("gateway-prod-eu-1"), member("gateway-prod-eu-2")];
  const lines = overviewAbove(contextOf({ list_cluster_members: members }), { columns: 116, rows: 9 }).map(textOfLine);
  assert.notEqual(lines[2]?.slice(0, 15), lines[3]?.slice(0, 15));
  assert.match(lines[2] ?? "", /^\S+-1 +follower /);
});

test("the part above keeps its height, and silent members stay listed", () => {
  const many = [...Array.from({ length: 9 }, (_, at) => member(`n${at}`)), member("gone", { state: "silent" })];
  for (const rows of [0, 1, 3, 6, 9]) {
    for (const columns of [96, 116, 160]) {
      const lines = overviewAbove(contextOf({ list_cluster_members: many }), { columns, rows });
      assert.ok(lines.length <= rows);
      if (rows >= 6) assert.ok(lines.some((line) => textOfLine(line).startsWith("gone           follower ! silent")));
    }
  }
});
