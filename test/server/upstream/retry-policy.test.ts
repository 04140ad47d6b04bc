import assert from "node:assert/strict";
import test from "node:test";
import type { RetryPolicy, Trigger } from "../../../src/server/upstream/index.ts";
import { nextStep, type RetryState, retryAfterMs, timeoutTrigger } from "../../../src/server/upstream/retry-policy.ts";

const retry: RetryPolicy = {
  attempts: 2,
  when: new Set<Trigger>(["connect", "5xx", "429"]),
  backoffMs: 200,
  maxBackoffMs: 2_000,
  retryAfterCapMs: 5_000,
};
const state: RetryState = {
  retry,
  retries: 0,
  failoverWhen: new Set<Trigger>(["5xx", "429"]),
  hasNext: () => true,
  remainingMs: Number.POSITIVE_INFINITY,
  random: 1,
};
const failure = (trigger: Trigger, retryAfter?: number) => ({ trigger, retryAfterMs: retryAfter });

test("all retries are used before failover", () => {
  assert.deepEqual(nextStep(failure("5xx"), state), { kind: "retry", waitMs: 200 });
  assert.deepEqual(nextStep(failure("5xx"), { ...state, retries: 1 }), { kind: "retry", waitMs: 400 });
  assert.deepEqual(nextStep(failure("5xx"), { ...state, retries: 2 }), { kind: "next" });
  assert.deepEqual(nextStep(failure("5xx"), { ...state, retries: 2, hasNext: () => false }), { kind: "answer" });
});

test("the wait doubles up to its cap, and jitter keeps at least half", () => {
  const far = { ...state, retry: { ...retry, attempts: 5 } };
  assert.deepEqual(nextStep(failure("5xx"), { ...far, retries: 4 }), { kind: "retry", waitMs: 2_000 });
  assert.deepEqual(nextStep(failure("5xx"), { ...far, retries: 4, random: 0 }), { kind: "retry", waitMs: 1_000 });
});

test("a 429 with a wait is retried after exactly that wait, and not at all above the cap", () => {
  assert.deepEqual(nextStep(failure("429", 5_000), state), { kind: "retry", waitMs: 5_000 });
  assert.deepEqual(nextStep(failure("429", 0), state), { kind: "retry", waitMs: 0 });
  assert.deepEqual(nextStep(failure("429", 5_001), state), { kind: "next" });
  assert.deepEqual(nextStep(failure("429", 5_001), { ...state, hasNext: () => false }), { kind: "answer" });
});

test("a wait beyond the request's own deadline is not started", () => {
  assert.deepEqual(nextStep(failure("5xx"), { ...state, remainingMs: 200 }), { kind: "next" });
});

test("a trigger outside the policy causes no retry", () => {
  assert.deepEqual(nextStep(failure("timeout"), state), { kind: "answer" });
  assert.deepEqual(nextStep(failure("connect"), { ...state, retry: undefined }), { kind: "answer" });
});

test("a first-byte timeout counts as unreachable unless a policy has a timeout trigger", () => {
  assert.equal(timeoutTrigger(retry, undefined), "connect");
  assert.equal(timeoutTrigger(retry, new Set<Trigger>(["timeout"])), "timeout");
  assert.equal(timeoutTrigger({ ...retry, when: new Set<Trigger>(["timeout"]) }, undefined), "timeout");
});

test("retry-after is read in milliseconds, seconds and dates", () => {
  const now = Date.parse("2026-01-01T00:00:00Z");
  const read = (pairs: Record<string, string>) => retryAfterMs(new Map(Object.entries(pairs)), now);
  assert.equal(read({ "retry-after-ms": "250", "retry-after": "9" }), 250);
  assert.equal(read({ "retry-after": "2" }), 2_000);
  assert.equal(read({ "retry-after": "Thu, 01 Jan 2026 00:00:03 GMT" }), 3_000);
  assert.equal(read({ "retry-after": "Wed, 31 Dec 2025 00:00:00 GMT" }), 0);
  assert.equal(read({ "retry-after": "Thursday, 01-Jan-26 00:00:03 GMT" }), 3_000);
  assert.equal(read({ "retry-after": "2026-01-01T00:00:03Z" }), 3_000);
  for (const none of ["soon", "-5", "1-2", "5s", "60 seconds", ""]) {
    assert.equal(read({ "retry-after": none }), undefined, none);
  }
  // A server states a date by the clock of its `date` header, which may be an hour behind ours or ahead.
  const hourBehind = { date: "Wed, 31 Dec 2025 23:00:00 GMT", "retry-after": "Wed, 31 Dec 2025 23:00:03 GMT" };
  assert.equal(read(hourBehind), 3_000);
  const hourAhead = { date: "Thu, 01 Jan 2026 01:00:00 GMT", "retry-after": "Thu, 01 Jan 2026 01:00:03 GMT" };
  assert.equal(read(hourAhead), 3_000);
  assert.equal(read({ date: "today", "retry-after": "Thu, 01 Jan 2026 00:00:03 GMT" }), 3_000);
  assert.equal(read({}), undefined);
});
