import assert from "node:assert/strict";
import { test } from "node:test";
import { machineMonotonic } from "../../src/base/index.ts";

test("the monotonic clock equals hrtime", () => {
  const before = Number(process.hrtime.bigint()) / 1e6;
  const between = machineMonotonic();
  const after = Number(process.hrtime.bigint()) / 1e6;
  // Doubles of this size are exact to less than a microsecond, and the origin was measured within a few.
  assert.ok(between > before - 0.1 && between < after + 0.1, `${before} ${between} ${after}`);
});
