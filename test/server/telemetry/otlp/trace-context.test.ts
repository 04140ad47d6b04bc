import assert from "node:assert/strict";
import { test } from "node:test";
import { carryContext, traceparentOf } from "../../../../src/server/telemetry/otlp/trace-context.ts";

const OURS = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01";

test("our trace context replaces the client's, and every other header is unchanged", () => {
  const headers = [
    "Accept",
    "*/*",
    "TraceParent",
    "theirs",
    "tracestate",
    "a=b",
    "TRACESTATE",
    "c=d",
    "baggage",
    "e=f",
  ];
  assert.deepEqual(carryContext(headers, OURS, true), [
    ...["Accept", "*/*", "TraceParent", OURS, "tracestate", "a=b", "TRACESTATE", "c=d", "baggage", "e=f"],
  ]);
});

test("a trace that begins here has no trace state and one traceparent", () => {
  const headers = ["tracestate", "a=b", "x", "y", "traceparent", "one", "Traceparent", "two"];
  assert.deepEqual(carryContext(headers, OURS, false), ["x", "y", "traceparent", OURS]);
  assert.deepEqual(carryContext([], OURS, false), ["traceparent", OURS]);
});

test("a traceparent has the sampled flag and no other", () => {
  const context = { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "00f067aa0ba902b7" };
  assert.equal(traceparentOf({ ...context, traceFlags: 1 }), OURS);
  assert.equal(traceparentOf({ ...context, traceFlags: 0xfe }), `${OURS.slice(0, -2)}00`);
});
