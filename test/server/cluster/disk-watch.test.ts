/** The watch on free disk space. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { createDiskWatch } from "../../../src/server/cluster/disk-watch.ts";
import { memoryLog } from "./support/outcome.ts";

test("a nearly full disk is reported once, and again when there is room", async () => {
  const { log, lines } = memoryLog();
  let free = 1_000;
  let told = 0;
  const watch = createDiskWatch({
    storage: { path: "/data", freeBytes: async () => free },
    minFreeBytes: 500,
    log,
    async onLow() {
      told += 1;
    },
  });
  await watch.check();
  assert.equal(watch.isLow(), false);
  free = 499;
  await watch.check();
  await watch.check();
  assert.deepEqual([watch.isLow(), told], [true, 1]);
  free = 500;
  await watch.check();
  assert.deepEqual([watch.isLow(), told], [false, 1]);
  assert.deepEqual(
    lines.map(({ level }) => level),
    ["error", "info"],
  );
});
