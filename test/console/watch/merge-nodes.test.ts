/** Per-node lists merged into one row for the cluster. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { foldedNodes } from "../../../src/console/watch/merge-nodes.ts";
import type { Row } from "../../../src/console/watch/read-rules.ts";

const bucket = (node: string, more: object): Row => ({
  budget: "day",
  bucket: "shared",
  limit: 1_000,
  used: 100,
  remaining: 900,
  reserved: 0,
  refused_per_minute: 0,
  status: "ok",
  node,
  ...more,
});

test("a merged budget has summed refusals and reservations, the worst state and the newest charges", () => {
  const rows = [
    bucket("n1", { refused_per_minute: 26, status: "refusing", reserved: 5 }),
    bucket("n2", { refused_per_minute: 40, status: "refusing", used: 120, remaining: 880 }),
    bucket("n3", { refused_per_minute: 23, status: "low", reserved: 2 }),
    bucket("n1", { bucket: "key-1" }),
  ];
  assert.deepEqual(foldedNodes("budgets", rows), [
    bucket("n1, n2, n3", { refused_per_minute: 89, status: "refusing", used: 120, remaining: 880, reserved: 7 }),
    bucket("n1", { bucket: "key-1" }),
  ]);
});

test("decisions, findings and errors of guardrails and controls are summed over the nodes", () => {
  const rule = (node: string, decisions: number | null, errors: number): Row => ({
    kind: "rule",
    name: "cards",
    decisions,
    errors,
    texts_read: null,
    texts_remembered: null,
    node,
  });
  assert.deepEqual(foldedNodes("guardrails", [rule("n1", 335, 1), rule("n2", 104, 0)]), [rule("n1, n2", 439, 1)]);
  assert.deepEqual(foldedNodes("guardrails", [rule("n1", null, 0), rule("n2", null, 0)]), [rule("n1, n2", null, 0)]);
  const controls = [
    { control: "iso/1", decisions: 3, node: "n1" },
    { control: "iso/1", decisions: 4, node: "n2" },
  ];
  assert.deepEqual(foldedNodes("controls", controls), [{ control: "iso/1", decisions: 7, node: "n1, n2" }]);
});

test("rows of one node and lists of independent rows stay unchanged", () => {
  const rows = [bucket("n1", {}), bucket("n1", { bucket: "other" })];
  assert.equal(foldedNodes("budgets", rows), rows);
  const requests = [
    { id: "a", node: "n1" },
    { id: "a", node: "n2" },
  ];
  assert.equal(foldedNodes("requests", requests), requests);
  assert.deepEqual(foldedNodes("budgets", []), []);
});
