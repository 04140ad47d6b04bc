/** Records of a session: everything, in a limited number of records. */
import assert from "node:assert/strict";
import test from "node:test";
import { GatewayError } from "../../../../src/base/index.ts";
import { MAX_RECORDS_PER_MINUTE, sessionTrail } from "../../../../src/server/dataplane/governance/session-trail.ts";
import type { DecisionRecord } from "../../../../src/server/dataplane/ports.ts";

const MINUTE_MS = 60_000;

const redacted = (rule: string, count = 1): DecisionRecord => ({
  event: "guardrail.decision",
  controls: [`for ${rule}`],
  data: {
    decision: "allow",
    direction: "request",
    matched: [{ rule, action: "redact", types: { "pii/EMAIL_ADDRESS": count }, kinds: ["user"] }],
    skipped: [],
    rule,
  },
});

const DENIED: DecisionRecord = { event: "guardrail.decision", controls: [], data: { decision: "deny", rule: "no" } };

function opened(isFull = () => false) {
  const records: DecisionRecord[] = [];
  let now = 0;
  const trail = sessionTrail(
    {
      record(record) {
        if (isFull()) throw new GatewayError("audit_unavailable", "full");
        records.push(record);
      },
      recordFailedAuthentication() {},
    },
    () => now,
  );
  return { records, trail, pass: (ms: number) => (now += ms) };
}

test("records above the minute's limit become one, with the number of messages and findings", () => {
  const { records, trail, pass } = opened();
  for (let i = 0; i < MAX_RECORDS_PER_MINUTE; i++) trail.record(redacted("a"));
  for (let i = 0; i < 500; i++) trail.record(redacted(i % 2 === 0 ? "a" : "b", 2));
  assert.equal(records.length, MAX_RECORDS_PER_MINUTE);
  trail.record(DENIED);
  assert.deepEqual(records.at(-1), DENIED);
  pass(MINUTE_MS);
  trail.record(redacted("c"));
  const [summed, next] = records.slice(-2);
  assert.deepEqual(next, redacted("c"));
  assert.deepEqual(summed?.controls, ["for a", "for b"]);
  assert.equal(summed?.data["messages"], 500);
  assert.deepEqual(summed?.data["matched"], [
    { rule: "a", action: "redact", types: { "pii/EMAIL_ADDRESS": 500 }, kinds: ["user"] },
    { rule: "b", action: "redact", types: { "pii/EMAIL_ADDRESS": 500 }, kinds: ["user"] },
  ]);
  trail.close();
  assert.equal(records.length, MAX_RECORDS_PER_MINUTE + 3);
});

test("shadow findings are summed by detector, and the end of a session reports the rest", () => {
  const { records, trail } = opened();
  const seen: DecisionRecord = {
    event: "guardrail.shadow",
    controls: [],
    data: { direction: "request", detectors: { watcher: { "pii/PHONE_NUMBER": 1 } } },
  };
  for (let i = 0; i < MAX_RECORDS_PER_MINUTE + 7; i++) trail.record(seen);
  trail.close();
  const last = records.at(-1);
  assert.deepEqual([last?.event, last?.data["messages"]], ["guardrail.shadow", 7]);
  assert.deepEqual(last?.data["detectors"], { watcher: { "pii/PHONE_NUMBER": 7 } });
});

test("a full trail refuses the next recorded event", () => {
  let isFull = false;
  const { trail, pass } = opened(() => isFull);
  for (let i = 0; i < MAX_RECORDS_PER_MINUTE + 1; i++) trail.record(redacted("a"));
  isFull = true;
  assert.throws(() => trail.record(DENIED), { code: "audit_unavailable" });
  pass(MINUTE_MS);
  assert.throws(() => trail.record(redacted("a")), { code: "audit_unavailable" });
  trail.close();
});
