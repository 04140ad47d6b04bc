/** The watch on free disk space. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { createDiskWatch } from "../../../src/server/cluster/disk-watch.ts";
import { memoryLog } from "./support/outcome.ts";

test("a nearly full disk is reported once, and again when there is room", async () => {
  const { log, lines } = memoryLog();
  let free = 1_000;
  let calls = 0;
  const durations: number[] = [];
  const watch = createDiskWatch({
    storage: { path: "/data", freeBytes: async () => free },
    minFreeBytes: 500,
    log,
    now: () => 0,
    isLeader: () => true,
    async handOver() {
      calls += 1;
    },
    onDurations: (seconds) => durations.push(...seconds),
  });
  await watch.check();
  assert.equal(watch.isLow(), false);
  free = 499;
  await watch.check();
  await watch.check();
  assert.deepEqual([watch.isLow(), calls], [true, 1]);
  free = 500;
  await watch.check();
  assert.deepEqual([watch.isLow(), calls], [false, 1]);
  for (const seconds of [0.1, 0.2]) watch.recordWrite(seconds);
  await watch.check();
  await watch.check();
  assert.deepEqual(durations, [0.1, 0.2], "each duration is reported once");
  assert.deepEqual(
    lines.map(({ level }) => level),
    ["error", "info"],
  );
});
