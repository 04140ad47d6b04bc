import assert from "node:assert/strict";
import { test } from "node:test";
import { commands, readSuspension, suspensionRowKey } from "../../../../src/server/core/state/index.ts";
import { bench, DAY, HOUR, START } from "./harness.ts";

const input = { kind: "model", name: "vendor/large", reason: "billing", duration_ms: HOUR } as const;
const heartbeat = commands.suspensionPut({ kind: "key", name: "other", reason: "", duration_ms: null });

test("a suspension has author, reason and end", () => {
  const at = bench();
  at.ok(commands.suspensionPut(input), { by: { iss: "https://id", sub: "ann" } });
  assert.deepEqual(readSuspension(at.state.get(suspensionRowKey("model", "vendor/large")) ?? ""), {
    kind: "model",
    name: "vendor/large",
    reason: "billing",
    at: START,
    until: START + HOUR,
    by: { iss: "https://id", sub: "ann" },
  });
});

test("a suspension without an end lasts until it is lifted", () => {
  const at = bench();
  at.ok(commands.suspensionPut({ ...input, duration_ms: null }));
  at.now += 400 * DAY;
  at.ok(heartbeat);
  assert.ok(at.state.get(suspensionRowKey("model", "vendor/large")) !== undefined);
  at.ok(commands.suspensionDelete({ kind: "model", name: "vendor/large" }));
  assert.equal(at.state.get(suspensionRowKey("model", "vendor/large")), undefined);
  assert.equal(at.refusal(commands.suspensionDelete({ kind: "model", name: "vendor/large" })), "not_found");
});

test("an ended suspension stays for a day, and a renewed one as long as it lasts", () => {
  const at = bench();
  const key = suspensionRowKey("model", "vendor/large");
  at.ok(commands.suspensionPut(input));
  at.now += HOUR + DAY - 1;
  at.ok(heartbeat);
  assert.ok(at.state.get(key) !== undefined);
  at.ok(commands.suspensionPut({ ...input, duration_ms: DAY }));
  at.now += 1;
  at.ok(heartbeat);
  assert.ok(at.state.get(key) !== undefined);
  at.now += 2 * DAY;
  at.ok(heartbeat);
  assert.equal(at.state.get(key), undefined);
});

test("malformed fields are refused", () => {
  const at = bench();
  for (const p of [
    { ...input, kind: "node" },
    { ...input, kind: 1 },
    { ...input, name: "" },
    { ...input, reason: "x".repeat(1_025) },
    { ...input, duration_ms: -1 },
    { ...input, duration_ms: undefined },
  ]) {
    assert.equal(at.refusal({ t: "suspension.put", v: 1, p }), "invalid");
  }
  assert.equal(at.refusal({ t: "suspension.delete", v: 1, p: { kind: "key" } }), "invalid");
});
