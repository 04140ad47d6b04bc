/**
 * The state machines of older builds and of this one, side by side in one process: the same entries must lead to the
 * same rows in all of them. `GATEWAY_VERSION_ENTRIES` makes the logs longer.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FEATURE_RANGE } from "../../../src/server/core/state/index.ts";
import { replicatedShapes } from "../../../src/server/core/state/recorded-shapes.ts";
import { CLOSED_LEVEL, OLDER_BUILDS } from "../../server/core/state/versions/closed.ts";
import { judgeShapes } from "../../server/core/state/versions/judge-shapes.ts";
import { drawLog, firstDifference, OF_THIS_BUILD } from "../../server/core/state/versions/recorded-log.ts";
import { createRandom } from "../cluster/support/random.ts";
import { missing, type Patch, ROOT, sourcesOf, stateModuleOf } from "./support/older-build.ts";

const ENTRIES = Number(process.env["GATEWAY_VERSION_ENTRIES"] ?? "1500");
const SEED = Number(process.env["GATEWAY_SEED"] ?? Math.floor(Math.random() * 2 ** 31));

for (const older of OLDER_BUILDS) {
  const { commit, level, about } = older;
  test(`${commit.slice(0, 8)} (${about}) reaches the same state as this build, at each level that both know`, {
    skip: missing(older),
  }, async (t) => {
    const machine = await stateModuleOf(sourcesOf(older));
    t.diagnostic(`seed ${SEED}`);
    for (let at = 1; at <= level; at += 1) {
      const lines = drawLog({ level: at, seed: SEED + at, entries: ENTRIES });
      assert.equal(firstDifference(lines, at, machine), undefined, `seed ${SEED}, level ${at}`);
    }
  });
}

/** Each keeps types and most tests of one build valid, and forks the state of a cluster of two. */
const BREAKS: readonly (Patch & { readonly what: string })[] = [
  {
    what: "a reason is trimmed",
    path: "src/server/core/state/commands/suspensions.ts",
    from: "suspensionRows.write({ ...given, at: now",
    to: "suspensionRows.write({ ...given, reason: given.reason.slice(0, 5), at: now",
  },
  {
    what: "an answer has an extra member",
    path: "src/server/core/state/commands/keys.ts",
    from: "return ok({ id, name });",
    to: "return ok({ id, name, rotated_at: site.now });",
  },
  {
    what: "an extra field is accepted",
    path: "src/server/core/state/commands/keys.ts",
    from: "object({ name: label(), id: keyId, digest: sha256Hex })",
    to: "object({ name: label(), id: keyId, digest: sha256Hex, unknown_to_all: optional(integer()) })",
  },
];

for (const { what, ...patch } of BREAKS) {
  test(`a build in which ${what} without a new feature level is detected`, async () => {
    const broken = await stateModuleOf(ROOT, patch);
    const level = Math.min(CLOSED_LEVEL, FEATURE_RANGE.max);
    const lines = drawLog({ level, seed: 7, entries: 1_500 });
    assert.equal(firstDifference(lines, level, OF_THIS_BUILD), undefined);
    assert.match(firstDifference(lines, level, broken) ?? "", /comes to another state/);
  });
}

test("a shape changed at a closed feature level is refused with the remedy, and accepted at a new level", () => {
  const shapes = replicatedShapes();
  const { next } = judgeShapes({}, shapes, { closed: 0, newest: CLOSED_LEVEL });
  const changed = shapes.map((each) =>
    each.name === "command key.delete"
      ? { ...each, shape: { version: "1", fields: { name: "text", why: "text" } } }
      : each,
  );
  const closed = judgeShapes(next, changed, { closed: CLOSED_LEVEL, newest: CLOSED_LEVEL });
  assert.equal(closed.broken.length, 1);
  assert.match(closed.broken[0] ?? "", /^command key\.delete is not what older builds .* have:\n.*FEATURE_LEVELS/s);
  const open = judgeShapes(next, changed, { closed: CLOSED_LEVEL, newest: CLOSED_LEVEL + 1 });
  assert.deepEqual([open.broken, open.unrecorded], [[], ["command key.delete"]]);
  assert.deepEqual(
    open.next["command key.delete"]?.map(({ level }) => level),
    [CLOSED_LEVEL, CLOSED_LEVEL + 1],
  );
  const gone = judgeShapes(next, shapes.slice(0, -1), { closed: CLOSED_LEVEL, newest: CLOSED_LEVEL + 1 });
  assert.match(gone.broken.join(), /is gone/);
  const raised = shapes.map((each) => (each.level === 1 ? { ...each, level: CLOSED_LEVEL + 1 } : each));
  assert.match(
    judgeShapes(next, raised, { closed: CLOSED_LEVEL, newest: CLOSED_LEVEL + 1 }).broken.join(),
    /was proposed from feature level 1 on/,
  );
});

test("the same seed generates the same log", () => {
  const drawn = () => drawLog({ level: 1, seed: createRandom(1).below(99), entries: 50 });
  assert.deepEqual(drawn(), drawn());
});
