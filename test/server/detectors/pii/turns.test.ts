/** A long conversation does not keep the thread: others have their turn between its texts, and a limit of time ends it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Scanned } from "../../../../src/server/core/guardrails/index.ts";
import { createPiiDetector } from "../../../../src/server/detectors/index.ts";

const built = createPiiDetector(
  {
    type: "pii",
    prefilter: "pure",
    entities: ["CREDIT_CARD"],
    mode: "inline",
    schedule: "sync",
    role: "discover",
    on_error: "fail_open",
  },
  "pii",
  true,
);
assert.ok(built.kind === "detector");
const { detector } = built;

const scanned = (text: string): Scanned => ({
  segment: { kind: "user", text, ref: "", turn: 0, isReadOnly: false },
  windows: undefined,
});
const LONG = `${"nothing of note here. ".repeat(1_500)} 4111 1111 1111 1111`;

test("few texts are answered at once, many in turns, with the same findings", async () => {
  const never = new AbortController().signal;
  const alone = detector.detect([scanned(LONG)], [], never);
  assert.ok(!(alone instanceof Promise));
  let turns = 0;
  const count = (): void => {
    turns += 1;
    waiting = setImmediate(count);
  };
  let waiting = setImmediate(count);
  const many = detector.detect(
    Array.from({ length: 12 }, () => scanned(LONG)),
    [],
    never,
  );
  assert.ok(many instanceof Promise);
  const found = await many;
  clearImmediate(waiting);
  assert.deepEqual(found, Array(12).fill(alone[0]));
  assert.equal(alone[0]?.length, 1);
  assert.ok(turns >= 2, `${turns} turns`);
});

test("between two texts a signal ends the work", async () => {
  const stop = new AbortController();
  const reason = new Error("too long");
  const reading = detector.detect(
    Array.from({ length: 12 }, () => scanned(LONG)),
    [],
    stop.signal,
  );
  stop.abort(reason);
  await assert.rejects(async () => reading, reason);
});
