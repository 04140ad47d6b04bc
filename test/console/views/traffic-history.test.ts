import assert from "node:assert/strict";
import test from "node:test";
import type { HistoryRecord } from "../../../src/admin-api/index.ts";
import { textOfLine } from "../../../src/console/model/text.ts";
import { overviewAbove } from "../../../src/console/views/overview-above.ts";
import { backend, contextOf } from "./traffic-fixtures.ts";

test("a new window shows 15 minutes of attempts from the node's history", () => {
  const row = (name: string, time: string, attempts: number, failures: number): HistoryRecord => ({
    ...{ time, kind: "backends", name, attempts, failures, ttfb_p50_ms: 1, ttfb_p95_ms: 2, in_flight: attempts },
    ...{ input_tokens: null, output_tokens: null, used: null, refused: null, decisions: null, findings: null },
    ...{ types: null, held_bytes: null, applied_index: null, commit_ms: null, node: "n1" },
  });
  const newest = "2026-11-20T14:01:50.000Z";
  const rows = [
    row("acme", "2026-11-20T14:01:30.000Z", 4, 0),
    row("acme", newest, 4, 4),
    row("acme-alt", newest, 4, 0),
    row("acme", "2026-11-20T13:40:00.000Z", 900, 0), // before the retention
  ];
  const lines = overviewAbove(
    contextOf({ list_backends: [backend("acme"), backend("acme-alt")], list_history: rows }),
    { columns: 116, rows: 6 },
  ).map(textOfLine);
  assert.match(lines[0] ?? "", /TRAFFIC {2}of this node, attempts at providers, 15 minutes$/);
  assert.match(lines[1] ?? "", /attempts {2}18\.2\/s {5}_+\+ 0\.8\/s$/);
  assert.match(lines[2] ?? "", /failed {4}0\.2 % {6}_+\+ 0\.4\/s$/);
  assert.match(lines[3] ?? "", /in flight 22 {9}_+\+ 8$/);
});
