/** A log with a time ahead of the members' clocks: from level 5 on entries are meanwhile decided by their stamps. */

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  commands,
  LOG_TIME_LEVEL,
  loadState,
  readSuspension,
  type UsageAnswer,
} from "../../../../src/server/core/state/index.ts";
import { assertDigest, type Bench, bench, member, START } from "./harness.ts";

const MINUTE = 60_000;

/** A cluster at the level, with a log `aheadMs` ahead. */
function aheadBy(aheadMs: number, level: number): Bench {
  const at = bench({ members: [member("n1", { incarnation: 1, feature: [1, LOG_TIME_LEVEL] })] });
  at.now = Math.floor(START / MINUTE) * MINUTE + 10_000;
  at.ok(commands.featSet({ level }));
  at.now += aheadMs;
  at.ok(commands.suspensionPut({ kind: "key", name: "far", reason: "", duration_ms: null }));
  at.now -= aheadMs;
  return at;
}

function spend(at: Bench, want: number): UsageAnswer | undefined {
  const row = {
    b: "team",
    w: Math.floor(at.now / MINUTE),
    window_ms: MINUTE,
    limit: 100,
    limit_rev: 1,
    spent: 0,
    want,
    ret: 0,
  };
  const { rows } = at.ok(commands.usageReport({ node: "n1", inc: 1, rows: [row] })) as { rows: readonly UsageAnswer[] };
  return rows[0];
}

function suspendedUntil(at: Bench): number | null {
  at.ok(commands.suspensionPut({ kind: "key", name: "k", reason: "", duration_ms: 30_000 }));
  return readSuspension(at.state.get("susp/key:k") ?? "").until;
}

for (const aheadMs of [600_000, 3_600_000, 86_400_000]) {
  test(`budgets and suspensions follow the stamps while the log is ${aheadMs} ms ahead, and log time stays`, () => {
    const at = aheadBy(aheadMs, LOG_TIME_LEVEL);
    const latest = at.now + aheadMs;
    assert.deepEqual([spend(at, 10)?.granted, suspendedUntil(at)], [10, at.now + 30_000]);
    assert.deepEqual([at.state.applied.now, at.state.decidedAt], [latest, at.now]);
    // Each minute has its own budget.
    at.now += MINUTE;
    assert.equal(spend(at, 100)?.granted, 100);
    // State on the disk leads to the same decision after a restart.
    const again = loadState({ applied: at.state.applied, rows: at.state.scan("") });
    assert.equal(again.digest, at.state.digest);
    // The clocks reach the log's time.
    at.now = latest + 1;
    at.ok(commands.suspensionDelete({ kind: "key", name: "k" }));
    assert.deepEqual([at.state.applied.now, at.state.decidedAt], [at.now, at.now]);
    assertDigest(at.state);
  });

  test(`below the feature level everything waits until the clocks reach a log that is ${aheadMs} ms ahead`, () => {
    const at = aheadBy(aheadMs, LOG_TIME_LEVEL - 1);
    assert.deepEqual([spend(at, 10)?.granted, suspendedUntil(at)], [0, at.now + aheadMs + 30_000]);
  });
}

test("stamps from two disagreeing leaders never move time back", () => {
  const at = aheadBy(5_000, LOG_TIME_LEVEL);
  assert.equal(suspendedUntil(at), at.now + 5_000 + 30_000);
  at.now -= 1;
  assert.equal(suspendedUntil(at), at.now + 30_000);
});
