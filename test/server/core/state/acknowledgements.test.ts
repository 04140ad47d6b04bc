import assert from "node:assert/strict";
import { test } from "node:test";
import {
  ACKNOWLEDGEMENTS_LEVEL,
  acknowledgementRowKey,
  commands,
  MAX_ACKNOWLEDGEMENTS,
  mayPropose,
  readAcknowledgement,
} from "../../../../src/server/core/state/index.ts";
import { type Bench, bench, HOUR, START } from "./harness.ts";

const name = 'refused:["key","ci \u6a21"]';
const input = { name, reason: "known, fixed on Monday", severity: "warn", degree: 2, duration_ms: HOUR } as const;
const key = acknowledgementRowKey(name);

function leveled(): Bench {
  const at = bench();
  at.ok(commands.featSet({ level: ACKNOWLEDGEMENTS_LEVEL }));
  return at;
}
const heartbeat = commands.suspensionPut({ kind: "key", name: "other", reason: "", duration_ms: null });

test("an acknowledgement has author, reason, severity and expiry", () => {
  const at = leveled();
  at.ok(commands.acknowledgementPut(input), { by: { iss: "https://id", sub: "ann" } });
  assert.deepEqual(readAcknowledgement(at.state.get(key) ?? ""), {
    name,
    reason: "known, fixed on Monday",
    severity: "warn",
    degree: 2,
    at: START,
    until: START + HOUR,
    by: { iss: "https://id", sub: "ann" },
  });
});

test("an acknowledgement is neither proposed nor applied below its feature level", () => {
  const at = bench();
  assert.equal(at.refusal(commands.acknowledgementPut(input)), "feature_level");
  assert.equal(at.refusal(commands.acknowledgementDelete({ name })), "feature_level");
  const level = ACKNOWLEDGEMENTS_LEVEL - 1;
  assert.deepEqual(
    [level, level + 1].map((it) => mayPropose("acknowledgement.put", it)),
    [false, true],
  );
});

test("an acknowledgement is removed with the first entry after its expiry, and a renewed one after its new expiry", () => {
  const at = leveled();
  at.ok(commands.acknowledgementPut(input));
  at.now += HOUR - 1;
  at.ok(heartbeat);
  assert.ok(at.state.get(key) !== undefined);
  at.ok(commands.acknowledgementPut({ ...input, duration_ms: 2 * HOUR }));
  at.now += 1;
  at.ok(heartbeat);
  assert.ok(at.state.get(key) !== undefined);
  at.now += 2 * HOUR;
  at.ok(heartbeat);
  assert.equal(at.state.get(key), undefined);
});

test("an acknowledgement is lifted by its name, once", () => {
  const at = leveled();
  at.ok(commands.acknowledgementPut(input));
  at.ok(commands.acknowledgementDelete({ name }));
  assert.equal(at.state.get(key), undefined);
  assert.equal(at.refusal(commands.acknowledgementDelete({ name })), "not_found");
});

test("acknowledgements are limited in number; active ones can be replaced, and expired ones do not count", () => {
  const at = leveled();
  for (let of = 0; of < MAX_ACKNOWLEDGEMENTS; of += 1) at.ok(commands.acknowledgementPut({ ...input, name: `n${of}` }));
  assert.equal(at.refusal(commands.acknowledgementPut(input)), "acknowledgement_limit");
  at.ok(commands.acknowledgementPut({ ...input, name: "n7", reason: "again" }));
  at.ok(commands.acknowledgementDelete({ name: "n7" }));
  at.ok(commands.acknowledgementPut(input));
  at.now += HOUR;
  at.ok(commands.acknowledgementPut({ ...input, name: "after" }));
});

test("malformed fields are refused", () => {
  const at = leveled();
  for (const p of [
    { ...input, name: "" },
    { ...input, name: "x".repeat(513) },
    { ...input, name: "a\nb" },
    { ...input, reason: "" },
    { ...input, severity: "worse" },
    { ...input, degree: -1 },
    { ...input, degree: 1.5 },
    { ...input, duration_ms: 0 },
    { ...input, duration_ms: null },
  ]) {
    assert.equal(at.refusal({ t: "acknowledgement.put", v: 1, p }), "invalid");
  }
  assert.equal(at.refusal({ t: "acknowledgement.delete", v: 1, p: {} }), "invalid");
});
