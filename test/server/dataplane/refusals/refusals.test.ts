/** Refusals as a grouped list, bounded for any callers. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Caller } from "../../../../src/server/auth/index.ts";
import { createRefusals, MAX_UNKNOWN_KEYS, type Refusal } from "../../../../src/server/dataplane/refusals/index.ts";

const START = Date.UTC(2026, 10, 20);

function open() {
  let ms = 0;
  const refusals = createRefusals({ now: () => START + ms, monotonic: () => 1_000_000 + ms });
  return {
    refusals,
    pass(by: number) {
      ms += by;
    },
  };
}

const keyCaller = (name: string, profile?: string): Caller => ({
  kind: "key",
  key: { id: name.padEnd(8, "x").slice(-8), name, metadata: {} },
  agent: undefined,
  user: undefined,
  issuer: undefined,
  profile,
  principal: name,
  onlyServer: undefined,
});

const denied = (caller: Caller | undefined, over: Partial<Refusal> = {}): Refusal => ({
  caller,
  code: "policy_denied",
  by: { kind: "rule", name: "no-opus" },
  requestId: "r-1",
  ...over,
});

test("refusals are listed by caller, code and cause, with their times and the last request", () => {
  const { refusals, pass } = open();
  const ci = keyCaller("ci");
  refusals.refused(denied(ci));
  pass(5_000);
  refusals.refused(denied(ci, { requestId: "r-2" }));
  refusals.refused(
    denied(keyCaller("batch"), { code: "budget_exhausted", by: { kind: "budget", name: "day", bucket: "b/day" } }),
  );
  refusals.refused(denied(undefined, { code: "unauthenticated", by: { kind: "credential", name: "unknown_key" } }));
  refusals.refused(
    denied(undefined, { code: "unauthenticated", by: { kind: "credential", name: "expired_key", key: "old" } }),
  );
  assert.deepEqual(
    refusals
      .read()
      .map(({ callerKind, caller, code, by, lastMinute, lastHour }) => [
        callerKind,
        caller,
        code,
        by?.kind,
        by?.name,
        lastMinute,
        lastHour,
      ]),
    [
      ["key", "ci", "policy_denied", "rule", "no-opus", 2, 2],
      ["key", "batch", "budget_exhausted", "budget", "day", 1, 1],
      ["unrecognised", undefined, "unauthenticated", "credential", "unknown_key", 1, 1],
      ["key", "old", "unauthenticated", "credential", "expired_key", 1, 1],
    ],
  );
  const [first] = refusals.read();
  assert.deepEqual([first?.firstAt, first?.lastAt, first?.lastRequest], [START, START + 5_000, "r-2"]);
  assert.equal(refusals.ofBucket("b/day"), 1);
  assert.equal(refusals.ofBucket("b/other"), 0);
});

test("a deleted key is listed by its id, and invented ids are listed one by one up to a limit", () => {
  const { refusals, pass } = open();
  const by = (keyId: string) => ({ kind: "credential", name: "unknown_key", keyId }) as const;
  const refuse = (id: string) => refusals.refused(denied(undefined, { code: "unauthenticated", by: by(id) }));
  refuse("revoked1");
  refuse("revoked1");
  for (let each = 0; each < MAX_UNKNOWN_KEYS + 50; each += 1) refuse(`k${each}`);
  refuse("revoked1");
  const rows = refusals.read();
  assert.equal(rows.length, MAX_UNKNOWN_KEYS + 1);
  assert.ok(rows.every(({ callerKind }) => callerKind === "unrecognised"));
  assert.deepEqual(
    rows.filter(({ caller }) => caller === "revoked1" || caller === undefined).map((row) => [row.caller, row.lastHour]),
    [
      ["revoked1", 3],
      [undefined, 51],
    ],
  );
  pass(2 * 3_600_000);
  refuse("revoked2");
  assert.deepEqual(
    refusals.read().map(({ caller }) => caller),
    ["revoked2"],
  );
});

test("a model outside a profile is listed as the profile's refusal, and provider failures are not listed", () => {
  const { refusals } = open();
  const caller = keyCaller("ci", "narrow");
  refusals.refused(denied(caller, { code: "model_not_allowed", by: undefined }));
  for (const code of ["upstream_unreachable", "upstream_timeout", "upstream_incomplete"] as const) {
    refusals.refused(denied(caller, { code, by: undefined }));
  }
  assert.deepEqual(
    refusals.read().map(({ code, by }) => [code, by]),
    [["model_not_allowed", { kind: "profile", name: "narrow" }]],
  );
});

test("counts cover the last minute and hour, and a row is removed an hour after its last refusal", () => {
  const { refusals, pass } = open();
  const ci = keyCaller("ci");
  const counts = () => refusals.read().map(({ lastMinute, lastHour }) => [lastMinute, lastHour]);
  refusals.refused(denied(ci));
  pass(59_000);
  refusals.refused(denied(ci));
  assert.deepEqual(counts(), [[2, 2]]);
  pass(1_000);
  assert.deepEqual(counts(), [[1, 2]]);
  assert.equal(refusals.changesInMs(), 1_000);
  pass(60_000);
  assert.deepEqual(counts(), [[0, 2]]);
  assert.equal(refusals.changesInMs(), 60_000);
  pass(3_540_000);
  assert.deepEqual(counts(), []);
  pass(120_000);
  assert.equal(refusals.changesInMs(), undefined);
});

test("the counts match a model that remembers every refusal", (t) => {
  const seed = Number(process.env["SEED"] ?? Date.now() & 0xffff);
  t.diagnostic(`seed ${seed}`);
  const steps = fc.array(
    fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 90_000 }), fc.integer({ min: 0, max: 4_000_000 })),
    {
      maxLength: 80,
    },
  );
  fc.assert(
    fc.property(steps, (waits) => {
      const { refusals, pass } = open();
      let ms = 1_000_000;
      const times: number[] = [];
      for (const wait of waits) {
        pass(wait);
        ms += wait;
        refusals.refused(denied(undefined));
        times.push(ms);
        const within = (unit: number): number =>
          times.filter((at) => Math.floor(at / unit) > Math.floor(ms / unit) - 60).length;
        const [row] = refusals.read();
        assert.deepEqual([row?.lastMinute, row?.lastHour], [within(1_000), within(60_000)]);
      }
    }),
    { seed, numRuns: 300 },
  );
});

test("callers with invented identities fill neither list nor memory and displace nobody", () => {
  const { refusals, pass } = open();
  const ci = keyCaller("ci");
  refusals.refused(denied(ci));
  const agent = (n: number): Caller => ({
    ...keyCaller(`agent-${n}`),
    kind: "agent",
    key: undefined,
    agent: { name: `\u001b[2J${"x".repeat(5_000)}${n}`, issuer: "corp", subject: String(n) },
  });
  for (let n = 0; n < 20_000; n += 1) {
    refusals.refused(
      denied(agent(n), { by: { kind: "budget", name: `b${n % 500}`, bucket: `b/${n}` }, code: "budget_exhausted" }),
    );
  }
  refusals.refused(denied(ci));
  const rows = refusals.read();
  assert.ok(rows.length <= 1_300, String(rows.length));
  assert.equal(rows[0]?.caller, "ci");
  assert.equal(rows[0]?.lastHour, 2);
  assert.equal(
    rows.reduce((sum, { lastHour }) => sum + lastHour, 0),
    20_002,
    "none is lost",
  );
  assert.ok(rows.some(({ callerKind, by }) => callerKind === "others" && by?.name === "b7"));
  for (const { caller = "" } of rows) assert.ok(caller.length < 200 && !caller.includes("\u001b"), caller);
  assert.ok(JSON.stringify(rows).length < 1 << 20);
  pass(3_700_000);
  refusals.refused(denied(agent(1)));
  assert.equal(refusals.read().length, 1, "an hour later there is room again");
});

test("a waiting reader is notified once, at the next refusal", () => {
  const { refusals } = open();
  let calls = 0;
  refusals.awaitChange(() => void calls++);
  refusals.refused(denied(undefined));
  refusals.refused(denied(undefined));
  assert.equal(calls, 1);
});
