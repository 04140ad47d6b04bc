/** Callers by virtual key: accepted ones, every refusal, and that a change of the key applies at once. */

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { createInstruments } from "../../../src/base/index.ts";
import { createCallers, mintKey } from "../../../src/server/auth/index.ts";
import { createKeyCallers } from "../../../src/server/auth/key-callers.ts";
import { bearer, identify, memoryKeys, noVerifier, outcome, testRules } from "./support/callers.ts";
import { START_MS, testClock } from "./support/issuer.ts";

function start() {
  const keys = memoryKeys();
  const clock = testClock();
  const instruments = createInstruments();
  return { keys, clock, instruments, callers: createCallers({ keys, verifier: () => noVerifier, clock, instruments }) };
}

test("a key gives its id, name, metadata and profile, and is its own payer", async () => {
  const { keys, callers } = start();
  const { text, stored } = keys.mint({ name: "team-a", profile: "standard", metadata: { tier: "gold" } });
  const found = await identify(callers, bearer(text));
  assert.deepEqual(found, {
    kind: "caller",
    caller: {
      kind: "key",
      key: { id: stored.id, name: "team-a", metadata: { tier: "gold" } },
      agent: undefined,
      user: undefined,
      issuer: undefined,
      profile: "standard",
      principal: stored.id,
      onlyServer: undefined,
    },
  });
});

test("a key without a profile has none", async () => {
  const { keys, callers } = start();
  const found = await identify(callers, bearer(keys.mint().text));
  assert.ok(found.kind === "caller");
  assert.equal(found.caller.profile, undefined);
});

test("requests of one key share one frozen caller until the key changes", async () => {
  const { keys, callers } = start();
  const { text, stored } = keys.mint();
  const found = await identify(callers, bearer(text));
  assert.ok(found.kind === "caller");
  assert.ok(Object.isFrozen(found.caller) && Object.isFrozen(found.caller.key));
  assert.equal(await identify(callers, bearer(text)), found);
  keys.put({ ...stored, name: "renamed", profile: "strict" });
  const changed = await identify(callers, bearer(text));
  assert.ok(changed.kind === "caller");
  assert.deepEqual([changed.caller.key?.name, changed.caller.profile], ["renamed", "strict"]);
});

test("a known key is answered at once, without a promise", () => {
  const { keys, callers } = start();
  const found = callers.identify(bearer(keys.mint().text), testRules(), undefined, new AbortController().signal);
  assert.ok(!(found instanceof Promise));
});

test("each reason for refusing a key has its fault", async () => {
  const { keys, callers } = start();
  const { text, stored } = keys.mint();
  const expired = keys.mint({ expires_at: START_MS });
  const forged = mintKey(randomBytes, stored.id).text;
  const forgedExpired = mintKey(randomBytes, expired.stored.id).text;
  const unknown = mintKey(randomBytes).text;
  const noKeys = testRules({ virtualKeys: false });
  const cases = [
    [text, undefined, "key"],
    [unknown, undefined, "unknown_key"],
    [forged, undefined, "unknown_key"],
    [forgedExpired, undefined, "unknown_key"],
    [expired.text, undefined, "expired_key"],
    [text, noKeys, "keys_not_accepted"],
    [unknown, noKeys, "keys_not_accepted"],
    [expired.text, noKeys, "keys_not_accepted"],
    [`${text.slice(0, -1)}${text.endsWith("0") ? "1" : "0"}`, undefined, "malformed"],
    ["gwk_", undefined, "malformed"],
    ["gwk_eyJhbGciOiJFUzI1NiJ9.e30.AA", undefined, "malformed"],
    [text, noKeys, "keys_not_accepted"],
  ] as const;
  for (const [given, rules, expected] of cases) {
    assert.equal(
      await outcome(callers, bearer(given), rules && { rules }),
      expected,
      `${given.slice(0, 12)} ${expected}`,
    );
  }
});

test("an expiry takes effect at its exact millisecond", async () => {
  const { keys, clock, callers } = start();
  const { text } = keys.mint({ expires_at: START_MS + 10 });
  clock.advance(9);
  assert.equal(await outcome(callers, bearer(text)), "key");
  clock.advance(1);
  assert.equal(await outcome(callers, bearer(text)), "expired_key");
});

test("a removed or rotated key is refused from the next request on", async () => {
  const { keys, callers } = start();
  const { text, stored } = keys.mint();
  assert.equal(await outcome(callers, bearer(text)), "key");
  const rotated = mintKey(randomBytes, stored.id);
  keys.put({ ...stored, digest: rotated.digest });
  assert.equal(await outcome(callers, bearer(text)), "unknown_key");
  assert.equal(await outcome(callers, bearer(rotated.text)), "key");
  keys.remove(stored.id);
  assert.equal(await outcome(callers, bearer(rotated.text)), "unknown_key");
});

test("a text with a wrong checksum causes no lookup, and every other text exactly one", async () => {
  const { keys, callers } = start();
  const { text } = keys.mint();
  await outcome(callers, bearer(`${text.slice(0, -6)}000000`));
  assert.equal(keys.keyQueries.length, 0);
  await outcome(callers, bearer(text), { rules: testRules({ virtualKeys: false }) });
  await outcome(callers, bearer(mintKey(randomBytes).text));
  assert.equal(keys.keyQueries.length, 2);
});

test("a malformed stored digest matches no secret", async () => {
  const { keys, callers } = start();
  for (const digest of ["", "0".repeat(64), "zz".repeat(32), "00"]) {
    assert.equal(await outcome(callers, bearer(keys.mint({ digest }).text)), "unknown_key", digest);
  }
});

test("the last use is reported by the minute, for accepted requests only, and survives a change of the key", async () => {
  const { keys, clock, callers } = start();
  const { text, stored } = keys.mint({ expires_at: START_MS + 300_000 });
  await outcome(callers, bearer(mintKey(randomBytes, stored.id).text));
  assert.equal(callers.lastUsedAt(stored.id), undefined);
  clock.advance(90_000);
  await outcome(callers, bearer(text));
  assert.equal(callers.lastUsedAt(stored.id), START_MS + 60_000);
  keys.put({ ...stored, name: "renamed" });
  assert.equal(callers.lastUsedAt(stored.id), START_MS + 60_000);
  clock.advance(60_000);
  await outcome(callers, bearer(text));
  assert.equal(callers.lastUsedAt(stored.id), START_MS + 120_000);
  clock.advance(300_000);
  assert.equal(await outcome(callers, bearer(text)), "expired_key");
  assert.equal(callers.lastUsedAt(stored.id), START_MS + 120_000);
});

test("last uses are kept for a bounded number of keys, the most recent ones", () => {
  const keys = memoryKeys();
  const callers = createKeyCallers({ keys, clock: testClock(), maxUses: 10 });
  const minted = Array.from({ length: 25 }, () => keys.mint());
  for (const { text } of minted) assert.equal(callers.identify(text, true).kind, "caller");
  const kept = minted.map(({ stored }) => callers.lastUsedAt(stored.id) !== undefined);
  assert.deepEqual(
    kept,
    minted.map((_, at) => at >= 15),
  );
});

test("outcomes are counted, and no label contains a part of a key", async () => {
  const { keys, callers, instruments } = start();
  const { text, stored } = keys.mint({ name: "payroll" });
  const unknown = mintKey(randomBytes);
  for (const input of [text, text, unknown.text, "gwk_x"]) await outcome(callers, bearer(input));
  const read = instruments.read();
  const family = read.find(({ name }) => name === "gateway_callers_total");
  assert.ok(family?.kind === "counter");
  assert.deepEqual(Object.fromEntries(family.series.map(({ labelValues, value }) => [labelValues[0], value])), {
    key: 2,
    unknown_key: 1,
    malformed: 1,
  });
  const all = JSON.stringify(read);
  for (const part of [text, stored.id, "payroll", unknown.id, unknown.text]) assert.ok(!all.includes(part));
});
