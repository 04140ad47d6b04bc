/** Timing of frames: none on a busy line, and on a slow one those of the operator first. */

import assert from "node:assert/strict";
import { beforeEach, mock, test } from "node:test";
import { createPacing, SLOW_MS } from "../../../src/console/parts/pacing.ts";

beforeEach(() => {
  mock.timers.reset();
  mock.timers.enable({ apis: ["setTimeout"] });
});

function open() {
  let drain = (): void => undefined;
  let drained = Promise.resolve();
  const line = { isOccupied: false, lastDrainMs: 0, drainedAt: 0 };
  let frames = 0;
  const pacing = createPacing({
    gate: {
      isBusy: () => line.isOccupied,
      whenDrained: () => drained,
      get lastDrainMs() {
        return line.lastDrainMs;
      },
      get drainedAt() {
        return line.drainedAt;
      },
    },
    draw: () => {
      frames += 1;
    },
    onFailed: (error) => assert.fail(String(error)),
  });
  return {
    pacing,
    frames: () => frames,
    occupy() {
      line.isOccupied = true;
      drained = new Promise((resolve) => {
        drain = resolve;
      });
    },
    /** Makes the last frame this much older. */
    age(ms: number) {
      line.drainedAt -= ms;
    },
    async free(tookMs: number) {
      line.isOccupied = false;
      line.lastDrainMs = tookMs;
      line.drainedAt = performance.now();
      drain();
      await drained;
      await Promise.resolve();
    },
  };
}

test("on an idle line everything is drawn at once", async () => {
  const { pacing, frames, occupy, free } = open();
  pacing.requestFrame(true);
  pacing.requestFrame(false);
  assert.equal(frames(), 2);
  occupy();
  await free(SLOW_MS);
  pacing.requestFrame(true);
  assert.equal(frames(), 3);
});

test("on a busy line all pending updates become one frame once it is free", async () => {
  const { pacing, frames, occupy, free } = open();
  occupy();
  for (let at = 0; at < 10; at += 1) pacing.requestFrame(at % 2 === 0);
  assert.equal(frames(), 0);
  await free(10_000);
  assert.equal(frames(), 1);
});

test("automatic updates leave a slow line free for as long as their frame took, and a key is drawn at once", async () => {
  const { pacing, frames, occupy, free, age } = open();
  occupy();
  await free(2_000);
  pacing.requestFrame(true);
  mock.timers.tick(1_900);
  assert.equal(frames(), 0);
  pacing.requestFrame(false);
  assert.equal(frames(), 1);
  occupy();
  pacing.requestFrame(true);
  await free(2_000);
  assert.equal(frames(), 1);
  age(2_000);
  mock.timers.tick(2_000);
  assert.equal(frames(), 2);
});

test("nothing is drawn after the end", async () => {
  const { pacing, frames, occupy, free } = open();
  occupy();
  pacing.requestFrame(false);
  pacing.stop();
  await free(10);
  pacing.requestFrame(false);
  assert.equal(frames(), 0);
});
