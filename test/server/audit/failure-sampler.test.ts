/** Authentication failures: ten a second are recorded, all are counted, and none is hidden. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { createInstruments, GatewayError } from "../../../src/base/index.ts";
import { type AuditEvent, createFailureSampler } from "../../../src/server/audit/index.ts";
import { readingOf } from "./support/open-trail.ts";

function sampled(append: (event: AuditEvent) => void) {
  const instruments = createInstruments();
  const clock = { ms: 1_000 };
  return { instruments, clock, sampler: createFailureSampler({ trail: { append }, instruments, now: () => clock.ms }) };
}

const failure = { plane: "data", fault: "unknown_key", remote: "192.0.2.1" } as const;

test("ten events a second are recorded and the rest counted; the next record has their number", () => {
  const events: AuditEvent[] = [];
  const { instruments, clock, sampler } = sampled((event) => events.push(event));
  for (let n = 0; n < 250; n += 1) sampler.record(failure);
  assert.equal(events.length, 10);
  assert.deepEqual(events[0], { event: "auth.failure", data: failure });
  clock.ms = 1_999;
  sampler.record(failure);
  assert.equal(events.length, 10);
  clock.ms = 2_000;
  sampler.record(failure);
  sampler.record(failure);
  assert.deepEqual(
    events.slice(10).map(({ data }) => data["suppressed"]),
    [241, undefined],
  );
  assert.equal(readingOf(instruments, "gateway_auth_failures_total", "data", "unknown_key"), 253);
});

test("a trail that refuses does not throw here, and the refused number is reported later", () => {
  const events: AuditEvent[] = [];
  let isFull = true;
  const { sampler } = sampled((event) => {
    if (isFull) throw new GatewayError("audit_unavailable", "full");
    events.push(event);
  });
  sampler.record(failure);
  isFull = false;
  sampler.record(failure);
  assert.deepEqual(
    events.map(({ data }) => data["suppressed"]),
    [1],
  );
});

test("a clock set back does not stop the recording", () => {
  const events: AuditEvent[] = [];
  const { clock, sampler } = sampled((event) => events.push(event));
  sampler.record(failure);
  clock.ms = 0;
  sampler.record(failure);
  assert.equal(events.length, 2);
});

test("an unknown reason does not become a label", () => {
  const { instruments, sampler } = sampled(() => undefined);
  for (const fault of ["Bearer xyz", "x".repeat(100), 'a"b', ""]) sampler.record({ plane: "data", fault });
  sampler.record({ door: "network" });
  assert.equal(readingOf(instruments, "gateway_auth_failures_total", "data", "other"), 4);
  assert.equal(readingOf(instruments, "gateway_auth_failures_total", "other", "other"), 1);
});
