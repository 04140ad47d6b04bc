import assert from "node:assert/strict";
import { test } from "node:test";
import {
  commands,
  headConflictKey,
  headRowKey,
  headsOf,
  ledgerRowKey,
  RECONCILE_LEVEL,
  readHead,
  readHeadConflict,
  readLedger,
} from "../../../../src/server/core/state/index.ts";
import { bench, member, START } from "./harness.ts";

const able = () => {
  const at = bench({ members: [member("n1", { incarnation: 1, feature: [1, RECONCILE_LEVEL] })] });
  at.ok(commands.featSet({ level: RECONCILE_LEVEL }));
  return at;
};

test("ledger rows are replaced as a whole by the observing node and dropped by day", () => {
  const at = able();
  const row = (day: string, tokens: number, seen = 0) => ({
    ...{ day, id: "p/openai", seen },
    fields: { tokens, ratio: 0.25, note: null },
  });
  at.ok(commands.reconcilePut({ rows: [row("2026-11-18", 1), row("2026-11-19", 2), row("2026-11-20", 3)] }));
  const further = [row("2026-11-19", 20, 1), row("2026-11-20", 4, 2), row("2026-11-18", 5), row("round", 6)];
  assert.deepEqual(at.ok(commands.reconcilePut({ rows: further })), { rows: 2, stale: [1, 2] });
  const of = { day: "2026-11-19", id: "p/openai" };
  assert.deepEqual(readLedger(at.state.get(ledgerRowKey(of)) ?? ""), {
    ...of,
    fields: { note: null, ratio: 0.25, tokens: 20 },
    rev: 2,
    at: START,
  });
  assert.deepEqual(at.ok(commands.reconcileDrop({ before: "2026-11-20" })), { dropped: 2, more: false });
  assert.deepEqual(
    Array.from(at.state.scan("rec/"), ([key]) => key),
    ["2026-11-20", "round"].map((day) => ledgerRowKey({ day, id: "p/openai" })),
  );
  at.ok(commands.reconcileForget({ id: "p/openai" }));
  assert.equal(at.state.get(ledgerRowKey({ day: "round", id: "p/openai" })), undefined);
});

test("many ledger rows are dropped in slices", () => {
  const at = able();
  for (let batch = 0; batch < 5; batch += 1) {
    const rows = Array.from({ length: 500 }, (_, n) => ({
      day: "2026-11-18",
      id: `${batch}-${n}`,
      fields: {},
      seen: 0,
    }));
    at.ok(commands.reconcilePut({ rows }));
  }
  assert.deepEqual(at.ok(commands.reconcileDrop({ before: "2026-12-01" })), { dropped: 2_000, more: true });
  assert.deepEqual(at.ok(commands.reconcileDrop({ before: "2026-12-01" })), { dropped: 500, more: false });
});

test("malformed ledger rows are refused", () => {
  const at = able();
  const row = { day: "2026-11-18", id: "a", fields: {}, seen: 0 };
  for (const rows of [
    [],
    {},
    [{ ...row, day: "today" }],
    [{ ...row, fields: { a: {} } }],
    [{ ...row, id: "" }],
    [{ ...row, seen: -1 }],
  ]) {
    assert.equal(at.refusal({ t: "reconcile.put", v: 2, p: { rows } }), "invalid");
  }
  assert.equal(at.refusal({ t: "reconcile.drop", v: 1, p: { before: "x" } }), "invalid");
});

const kid = (n: number) => `kid-${String(n).padStart(20, "0")}`;
const hash = (letter: string) => letter.repeat(43);
const witness = (chain: number, seq: number, letter: string, succeeds?: { kid: string; seq: number; hash: string }) =>
  commands.auditWitness({
    node: "n1",
    kid: kid(chain),
    seq,
    hash: hash(letter),
    ...(succeeds === undefined ? {} : { succeeds }),
  });

test("the highest record of a chain is its head, and an older or equal one changes nothing", () => {
  const at = bench();
  assert.deepEqual(at.ok(witness(1, 5, "a")), { outcome: "witnessed" });
  assert.deepEqual(at.ok(witness(1, 9, "b")), { outcome: "witnessed" });
  assert.deepEqual(at.ok(witness(1, 9, "b")), { outcome: "known" });
  assert.deepEqual(at.ok(witness(1, 7, "c")), { outcome: "older" });
  assert.deepEqual(
    Array.from(at.state.scan(headsOf("n1")), ([, value]) => readHead(value)),
    [{ node: "n1", kid: kid(1), seq: 9, hash: hash("b"), at: START }],
  );
});

test("a different record under a witnessed number is kept as evidence, the first one above all", () => {
  const at = bench();
  at.ok(witness(1, 9, "b"));
  assert.deepEqual(at.ok(witness(1, 9, "x")), { outcome: "conflict" });
  assert.deepEqual(at.ok(witness(1, 9, "y")), { outcome: "conflict" });
  const evidence = readHeadConflict(at.state.get(headConflictKey("n1")) ?? "");
  assert.deepEqual([evidence.count, evidence.witnessed.hash, evidence.shown.hash], [2, hash("b"), hash("x")]);
  assert.equal(readHead(at.state.get(headRowKey("n1", kid(1))) ?? "").hash, hash("b"));
});

test("a new chain that begins lower is a conflict unless it names the witnessed head", () => {
  for (const [succeeds, outcome] of [
    [undefined, "conflict"],
    [{ kid: kid(1), seq: 8, hash: hash("b") }, "conflict"],
    [{ kid: kid(1), seq: 9, hash: hash("b") }, "witnessed"],
  ] as const) {
    const at = bench();
    at.ok(witness(1, 9, "b"));
    assert.deepEqual(at.ok(witness(2, 0, "c", succeeds)), { outcome });
    assert.equal(readHead(at.state.get(headRowKey("n1", kid(2))) ?? "").seq, 0);
    assert.equal(at.state.get(headConflictKey("n1")) !== undefined, outcome === "conflict");
  }
});

test("for a node that begins a new chain at each start the newest chains are kept", () => {
  const at = bench();
  for (let chain = 0; chain < 70; chain += 1) {
    at.now += 1;
    at.ok(witness(chain, chain, "a"));
  }
  const kept = Array.from(at.state.scan(headsOf("n1")), ([, value]) => readHead(value).kid);
  assert.deepEqual(
    kept,
    Array.from({ length: 64 }, (_, n) => kid(n + 6)),
  );
});

test("malformed heads are refused", () => {
  const at = bench();
  const good = { node: "n1", kid: kid(1), seq: 0, hash: hash("a") };
  for (const p of [
    { ...good, kid: "conflict" },
    { ...good, hash: "a" },
    { ...good, seq: -1 },
    { ...good, node: "" },
  ]) {
    assert.equal(at.refusal({ t: "audit.witness", v: 1, p }), "invalid");
  }
});
