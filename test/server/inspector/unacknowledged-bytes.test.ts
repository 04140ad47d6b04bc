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
  const scene = open(t);
  assert.equal(scene.unacknowledged.add(60), true);
  assert.equal(scene.unacknowledged.add(60), false);
  assert.equal(scene.held, 60);
  scene.unacknowledged.acknowledge(60);
  assert.equal(scene.held, 0);
  assert.equal(scene.unacknowledged.add(60), true);
  scene.unacknowledged.end();
});

test("a peer that reads nothing is stuck, after at most twice the timeout", (t) => {
  const scene = open(t);
  scene.unacknowledged.add(60);
  assert.equal(scene.unacknowledged.isWaiting(), true);
  scene.wait(LIMIT_MS - 1);
  assert.equal(scene.stuck, 0);
  scene.wait(1);
  assert.equal(scene.stuck, 1);
});

test("a peer that reads slowly is not stuck, however long it takes", (t) => {
  const scene = open(t);
  scene.unacknowledged.add(60);
  for (let bytes = 0; bytes < 50; bytes += 1) {
    scene.wait(LIMIT_MS - 1);
    scene.unacknowledged.acknowledge(1);
  }
  assert.deepEqual([scene.stuck, scene.held, scene.unacknowledged.isWaiting()], [0, 10, true]);
  scene.wait(LIMIT_MS);
  scene.wait(LIMIT_MS);
  assert.ok(scene.stuck > 0);
});

test("a peer that has read everything is not timed, and is again with the next bytes", (t) => {
  const scene = open(t);
  scene.unacknowledged.add(60);
  scene.unacknowledged.acknowledge(60);
  assert.equal(scene.unacknowledged.isWaiting(), false);
  scene.wait(10 * LIMIT_MS);
  assert.equal(scene.stuck, 0);
  scene.unacknowledged.add(1);
  scene.wait(LIMIT_MS);
  assert.equal(scene.stuck, 1);
});

test("a finished stream is not watched", (t) => {
  const scene = open(t);
  scene.unacknowledged.add(60);
  scene.unacknowledged.end();
  scene.wait(10 * LIMIT_MS);
  assert.equal(scene.stuck, 0);
});
