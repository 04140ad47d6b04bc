import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { promisify } from "node:util";
import { childArgs } from "../../support/child-program.ts";

const CHILD = childArgs("./budget-child.ts", import.meta.url);

test("three changed rows take less than a kilobyte, and a thousand states leave no measurements behind", async (t) => {
  const { stdout } = await promisify(execFile)(process.execPath, CHILD, { timeout: 60_000 });
  const { first, most, frames, p95, measures } = JSON.parse(stdout) as Record<string, number>;
  t.diagnostic(`first frame ${first} bytes, then at most ${most}; ${frames} frames; p95 ${p95?.toFixed(1)} ms`);
  assert.ok(Number(most) > 0 && Number(most) < 1_024, `${most} bytes`);
  assert.equal(measures, 0);
  assert.ok(Number(frames) >= 100);
  // 10 ms on an idle machine; here other tests may run beside it.
  assert.ok(Number(p95) < 250, `${p95} ms`);
});
