import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { commands } from "../../../../src/server/core/state/index.ts";
import { assertDigest, bench, DAY, HOUR } from "./harness.ts";

const put = (name: string) => commands.suspensionPut({ kind: "key", name, reason: "", duration_ms: null });
const lift = (name: string) => commands.suspensionDelete({ kind: "key", name });
const rowsOf = (at: ReturnType<typeof bench>, prefix: string) => [...at.state.scan(prefix)].length;

test("a repeated command gets the earlier answer and changes nothing", () => {
  const at = bench();
  const first = at.apply(put("a"), { c: "x", s: 1 });
  const refusal = at.apply(lift("b"), { c: "x", s: 2 });
  at.ok(lift("a"), { c: "x", s: 3 });
  at.now += 1_000;
  for (const [command, s, before] of [
    [put("a"), 1, first],
    [lift("b"), 2, refusal],
  ] as const) {
    const again = at.apply(command, { c: "x", s });
    assert.deepEqual(again, { result: before.result, mutations: [], replacement: undefined });
  }
  assert.equal(rowsOf(at, "susp/"), 0);
});

test("commands of one client may arrive out of order", () => {
  const at = bench();
  for (const s of [3, 1, 2]) at.ok(put(`n${s}`), { c: "x", s });
  assert.equal(rowsOf(at, "susp/"), 3);
});

test("a sequence below the window is refused, since it may have been applied", () => {
  const at = bench();
  for (let s = 1; s <= 1_500; s += 1) at.apply(put("a"), { c: "x", s });
  assert.equal(rowsOf(at, "sess/x/"), 1_024);
  assert.equal(at.refusal(put("b"), { c: "x", s: 476 }), "duplicate_too_old");
  assert.equal(at.run(put("b"), { c: "x", s: 477 }).kind, "ok");
  assert.equal(rowsOf(at, "susp/"), 1);
  at.ok(put("c"), { c: "x", s: 90_000 });
  assert.equal(rowsOf(at, "sess/x/"), 1);
  assert.equal(at.refusal(put("b"), { c: "x", s: 1_500 }), "duplicate_too_old");
});

test("clients do not share sequences, whatever prefix their names have", () => {
  const at = bench();
  at.ok(put("a"), { c: "x", s: 1 });
  at.ok(put("b"), { c: "x-1", s: 1 });
  at.ok(put("c"), { c: "x0", s: 1 });
  assert.equal(rowsOf(at, "susp/"), 3);
});

test("a client silent for an hour is forgotten in slices, oldest commands first", () => {
  const at = bench();
  for (let s = 1; s <= 200; s += 1) at.apply(put("a"), { c: "x", s });
  at.now += HOUR - 1;
  at.ok(put("b"), { c: "y", s: 1 });
  assert.equal(rowsOf(at, "sess/x/"), 200);
  at.now += 1;
  const { mutations } = at.apply(put("c"), { c: "y", s: 2 });
  assert.ok(mutations.length < 80, `${mutations.length} rows in one entry`);
  const left = rowsOf(at, "sess/x/");
  assert.ok(left > 0 && left < 200);
  // Expired sessions are refused while the rest is still known.
  assert.equal(at.refusal(put("d"), { c: "x", s: 1 }), "duplicate_too_old");
  assert.deepEqual(at.apply(put("d"), { c: "x", s: 200 }).mutations, []);
  for (let s = 3; s <= 6; s += 1) at.ok(put("c"), { c: "y", s });
  assert.equal(rowsOf(at, "sess/x"), 0);
  assertDigest(at.state);
});

test("a result too long to keep is remembered as done", () => {
  const at = bench({ members: [{ ...memberRow, id: "n1" }] });
  const rows = Array.from({ length: 200 }, (_, n) => ({
    b: `b/${n}`,
    w: Math.floor(at.now / HOUR),
    window_ms: HOUR,
    limit: 100,
    limit_rev: 1,
    spent: 0,
    want: 10,
    ret: 0,
  }));
  const report = commands.usageReport({ node: "n1", inc: 1, rows });
  assert.equal((at.ok(report, { c: "x", s: 1 }) as { rows: unknown[] }).rows.length, 200);
  assert.deepEqual(at.apply(report, { c: "x", s: 1 }), {
    result: { kind: "ok", value: null },
    mutations: [],
    replacement: undefined,
  });
});
const memberRow = {
  storage: "",
  raft_addr: "",
  forward_addr: "",
  version: "",
  proto: [1, 1],
  feature: [1, 1],
  incarnation: 1,
} as const;

test("a request with an idempotency key is applied once, whichever node sends it", () => {
  const at = bench();
  const key = { k: "unix:0/abc", kd: "digest-1" };
  const first = at.run(put("a"), { c: "x", s: 1, ...key });
  at.ok(lift("a"));
  at.now += DAY - 1;
  assert.deepEqual(at.run(put("a"), { c: "y", s: 1, ...key }), first);
  assert.equal(rowsOf(at, "susp/"), 0);
  at.now += 1;
  at.ok(put("a"), { c: "z", s: 1, ...key });
  assert.equal(rowsOf(at, "susp/"), 1);
});

test("another request with the same key is refused, and another principal's key is separate", () => {
  const at = bench();
  at.ok(put("a"), { k: "unix:0/abc", kd: "one" });
  assert.equal(at.refusal(put("b"), { k: "unix:0/abc", kd: "two" }), "conflict");
  at.ok(put("b"), { k: "unix:1/abc", kd: "two" });
});

test("a refused request may be retried with its key", () => {
  const at = bench();
  const key = { k: "unix:0/abc", kd: "one" };
  assert.equal(at.refusal(lift("a"), key), "not_found");
  at.ok(put("a"));
  at.ok(lift("a"), key);
});

test("idempotency keys expire after a day", () => {
  const at = bench();
  for (let n = 0; n < 100; n += 1) at.ok(put("a"), { k: `unix:0/${n}`, kd: "one" });
  at.now += DAY;
  for (let n = 0; n < 3; n += 1) at.ok(put("a"));
  assert.equal(rowsOf(at, "idem/"), 0);
});

test("each command changes the state once, however often and in whatever order it is retried", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(2), fc.integer({ min: 1, max: 12 })), { maxLength: 120 }), (deliveries) => {
      const at = bench();
      const first = new Map<string, unknown>();
      for (const [client, s] of deliveries) {
        const id = `c${client}-${s}`;
        const command = commands.keyCreate({
          // Every third requests a name that is taken sooner or later.
          name: s % 3 === 0 ? "taken" : id,
          id: `k${client}${s}xxxx`,
          profile: null,
          metadata: {},
          digest: "ab".repeat(32),
          expires_in_ms: null,
        });
        const { result, mutations } = at.apply(command, { c: `c${client}`, s });
        if (first.has(id)) {
          assert.deepEqual(result, first.get(id));
          assert.deepEqual(mutations, []);
        }
        first.set(id, result);
      }
      const done = [...first.values()].filter((result) => (result as { kind: string }).kind === "ok").length;
      assert.equal(rowsOf(at, "key/"), done);
      assertDigest(at.state);
    }),
    { numRuns: 60 },
  );
});
