/** Bytes waiting for a peer: their limit, and when the peer counts as stuck. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { countUnacknowledgedBytes } from "../../../src/server/inspector/unacknowledged-bytes.ts";

const LIMIT_MS = 1_000;
const ROOM = 100;

function open(t: TestContext) {
  t.mock.timers.enable({ apis: ["setInterval"] });
  let held = 0;
  let stuck = 0;
  const hold = (bytes: number): boolean => {
    if (held + bytes > ROOM) return false;
    held += bytes;
    return true;
  };
  const unacknowledged = countUnacknowledgedBytes(hold, LIMIT_MS, () => {
    stuck += 1;
  });
  return {
    unacknowledged,
    wait: (ms: number) => t.mock.timers.tick(ms),
    get held() {
      return held;
    },
    get stuck() {
      return stuck;
    },
  };
}

test("bytes above the limit are refused and not kept", (t) => {
  const opened = open(t);
  assert.equal(opened.unacknowledged.add(60), true);
  assert.equal(opened.unacknowledged.add(60), false);
  assert.equal(opened.held, 60);
  opened.unacknowledged.acknowledge(60);
  assert.equal(opened.held, 0);
  assert.equal(opened.unacknowledged.add(60), true);
  opened.unacknowledged.end();
});

test("a peer that reads nothing is stuck, after at most twice the timeout", (t) => {
  const opened = open(t);
  opened.unacknowledged.add(60);
  assert.equal(opened.unacknowledged.isWaiting(), true);
  opened.wait(LIMIT_MS - 1);
  assert.equal(opened.stuck, 0);
  opened.wait(1);
  assert.equal(opened.stuck, 1);
});

test("a peer that reads slowly is not stuck, however long it takes", (t) => {
  const opened = open(t);
  opened.unacknowledged.add(60);
  for (let bytes = 0; bytes < 50; bytes += 1) {
    opened.wait(LIMIT_MS - 1);
    opened.unacknowledged.acknowledge(1);
  }
  assert.deepEqual([opened.stuck, opened.held, opened.unacknowledged.isWaiting()], [0, 10, true]);
  opened.wait(LIMIT_MS);
  opened.wait(LIMIT_MS);
  assert.ok(opened.stuck > 0);
});

test("a peer that has read everything is not timed, and is again with the next bytes", (t) => {
  const opened = open(t);
  opened.unacknowledged.add(60);
  opened.unacknowledged.acknowledge(60);
  assert.equal(opened.unacknowledged.isWaiting(), false);
  opened.wait(10 * LIMIT_MS);
  assert.equal(opened.stuck, 0);
  opened.unacknowledged.add(1);
  opened.wait(LIMIT_MS);
  assert.equal(opened.stuck, 1);
});

test("a finished stream is not watched", (t) => {
  const opened = open(t);
  opened.unacknowledged.add(60);
  opened.unacknowledged.end();
  opened.wait(10 * LIMIT_MS);
  assert.equal(opened.stuck, 0);
});
