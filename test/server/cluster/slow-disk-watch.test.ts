/** The watch on slow durable writes. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { createSlowDiskWatch } from "../../../src/server/cluster/slow-disk-watch.ts";
import { memoryLog } from "./support/outcome.ts";

function open({ isLeader = true } = {}) {
  const { log, lines } = memoryLog();
  const state = { now: 0, handedOver: 0 };
  const watch = createSlowDiskWatch({
    log,
    now: () => state.now,
    isLeader: () => isLeader,
    async handOver() {
      state.handedOver += 1;
    },
  });
  const write = (...seconds: readonly number[]): void => {
    for (const each of seconds) watch.recordWrite(each);
    watch.check();
  };
  return { state, lines, write };
}

test("a leader whose writes stay slow hands over, once in five minutes", () => {
  const { state, lines, write } = open();
  write(0.8, 0.8, 0.8, 0.8, 0.8, 0.8);
  assert.equal(state.handedOver, 0);
  write(0.8);
  assert.equal(state.handedOver, 1);
  write(0.8);
  state.now = 299_999;
  write(0.8);
  assert.equal(state.handedOver, 1);
  state.now = 300_000;
  write();
  assert.equal(state.handedOver, 2);
  assert.deepEqual(
    lines.map(({ level }) => level),
    ["warn", "warn"],
  );
  assert.match(lines[0]?.message ?? "", /leadership is handed over/);
});

test("a few slow writes, or slow ones between fast ones, change nothing", () => {
  for (const writes of [
    [3, 3],
    [3, 3, 0.01, 3, 3],
    [0.49, 0.49, 0.49, 0.49, 0.49, 0.49, 0.49, 0.49, 0.49, 0.49, 0.49],
    [0.9, 0.9, 0.9, 0.9, 0.9],
  ]) {
    const { state, lines, write } = open();
    write(...writes);
    assert.deepEqual([state.handedOver, lines.length], [0, 0], writes.join(" "));
  }
});

test("a follower with a slow disk says so and keeps its role", () => {
  const { state, lines, write } = open({ isLeader: false });
  write(3, 3, 3);
  assert.equal(state.handedOver, 0);
  assert.match(lines[0]?.message ?? "", /take effect late on this node/);
});
