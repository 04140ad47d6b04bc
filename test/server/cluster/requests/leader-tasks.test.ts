/** Proposals of a leader on its own: the comparison of all rows, and the feature level. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { createLeaderTasks } from "../../../../src/server/cluster/requests/leader-tasks.ts";
import { memberOf } from "../support/leader-bench.ts";
import { settled } from "../support/outcome.ts";

test("a leader has all members compare their rows every thousand entries, and every minute if there are new ones", async () => {
  const proposed: string[] = [];
  let applied = 999;
  let leads = true;
  const tick = createLeaderTasks({
    leads: () => leads,
    applied: () => applied,
    digest: () => "d".repeat(32),
    members: () => [memberOf("a")],
    featureLevel: () => 1,
    async propose(t) {
      proposed.push(t);
    },
  });
  const ticks = async (count: number): Promise<void> => {
    for (let at = 0; at < count; at += 1) tick();
    await settled();
  };
  await ticks(10);
  assert.deepEqual(proposed, []);
  applied = 1_000;
  leads = false;
  await ticks(1);
  assert.deepEqual(proposed, []);
  leads = true;
  await ticks(2);
  assert.deepEqual(proposed, ["state.check"]);
  applied = 1_001;
  await ticks(1_200);
  assert.equal(proposed.length, 1, "its own entry is nothing new");
  applied = 1_005;
  await ticks(1_200);
  assert.equal(proposed.length, 2);
});

test("the feature level rises to the lowest that all members allow, and never falls", async () => {
  for (const [features, level, expected] of [
    [[3, 2], 1, { level: 2 }],
    [[3, 2], 2, undefined],
    [[1, 3], 2, undefined],
  ] as const) {
    const proposed: unknown[] = [];
    const tick = createLeaderTasks({
      leads: () => true,
      applied: () => 0,
      digest: () => "",
      members: () => features.map((max, at) => memberOf(`n${at}`, { feature: [1, max] })),
      featureLevel: () => level,
      async propose(_, p) {
        proposed.push(p);
      },
    });
    for (let at = 0; at < 20; at += 1) tick();
    await settled();
    assert.deepEqual(proposed, expected === undefined ? [] : [expected]);
  }
});
