/** Two builds of adjacent versions in one cluster: the newer one has one more command, from feature level 2 on. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { type CommandRule, define } from "../../../../src/server/core/state/command.ts";
import { ok } from "../../../../src/server/core/state/command-refusals.ts";
import { COMMAND_RULES } from "../../../../src/server/core/state/commands/table.ts";
import { object, prose } from "../../../../src/server/core/state/fields.ts";
import {
  commands,
  featureLevelStatus,
  featureLevelWaitText,
  isLevelRising,
  loadState,
  mayPropose,
  type State,
  UpgradeRequired,
} from "../../../../src/server/core/state/index.ts";
import { bench, member, proposalOf, START } from "./harness.ts";

const noteSet = define(
  "note.set",
  object({ text: prose(100) }),
  ({ text }, { draft }) => {
    draft.put("note/x", `1${JSON.stringify(text)}`);
    return ok();
  },
  { level: 2 },
);
const newer: ReadonlyMap<string, CommandRule> = new Map([...COMMAND_RULES, [noteSet.name, noteSet]]);
const feature = { min: 1, max: 2 };
const both = [member("n1", { feature: [1, 2] }), member("n2", { feature: [1, 1] })];

const last = (state: State) => ({ index: state.applied.index + 1, term: 1 });

test("until every member has the newer build its command is neither proposed nor applied", () => {
  assert.deepEqual([mayPropose("note.set", 1, newer), mayPropose("note.set", 2, newer)], [false, true]);
  assert.deepEqual([mayPropose("note.set", 2), mayPropose("key.create", 1)], [false, true]);
  const at = bench({ rules: newer, feature, members: both });
  assert.equal(at.refusal(commands.featSet({ level: 2 })), "feature_unsupported");
  assert.equal(at.refusal(noteSet.make({ text: "hello" })), "feature_level");
});

test("both builds have the same state while the feature level is the older one's", () => {
  const [old, fresh] = [bench({ members: both }), bench({ rules: newer, feature, members: both })];
  for (const at of [old, fresh]) {
    at.ok(commands.suspensionPut({ kind: "mcp", name: "m", reason: "", duration_ms: null }));
    at.refusal(commands.featSet({ level: 2 }));
    at.refusal({ t: "key.create", v: 1, p: {} });
  }
  assert.equal(old.state.digest, fresh.state.digest);
});

test("once the last member has the newer build the level rises and the command works", () => {
  const at = bench({ rules: newer, feature, members: both });
  const { incarnation: _, ...restarted } = member("n2", { storage: "a".repeat(32), feature: [1, 2] });
  at.ok(commands.nodeStart(restarted));
  at.ok(commands.featSet({ level: 2 }));
  at.ok(noteSet.make({ text: "hello" }));
  assert.equal(at.state.get("note/x"), '1"hello"');
});

test("an older build stops unmoved at an unknown command, version, format or level", () => {
  const members = [member("n1", { feature: [1, 2] })];
  const older = { min: 1, max: 1 };
  const { state } = bench({ members, feature: older });
  const { applied, digest } = state;
  for (const data of [
    proposalOf(noteSet.make({ text: "hello" }), {}, START),
    proposalOf({ ...commands.keyDelete({ name: "a" }), v: 2 }, {}, START),
    proposalOf(commands.featSet({ level: 2 }), {}, START),
    Uint8Array.of(2, 0, 0),
  ]) {
    assert.throws(() => state.apply({ ...last(state), data }), UpgradeRequired);
    assert.deepEqual([state.applied, state.digest], [applied, digest]);
  }
  const rows = [["feat/level", '1{"level":2}']] as const;
  assert.throws(() => loadState({ applied, rows, feature: older }), UpgradeRequired);
  assert.equal(loadState({ applied, rows, feature }).rowCount, 1);
});

test("a pending level is reported with the members' versions, and not if all support the same", () => {
  const members = [
    member("n1", { feature: [1, 3], version: "0.3.0" }),
    member("n2", { feature: [1, 2], version: "0.2.0" }),
    member("n3"),
  ];
  const mixed = featureLevelStatus(bench({ members }).state);
  assert.deepEqual(mixed, {
    level: 1,
    next: {
      level: 3,
      waitsFor: [
        { id: "n2", version: "0.2.0", highest: 2 },
        { id: "n3", version: "", highest: 1 },
      ],
    },
  });
  assert.equal(
    featureLevelWaitText(mixed),
    "level 3 waits for n2, which runs 0.2.0 (levels to 2), and for n3, which has not reported its version yet",
  );
  const one = bench({ members: members.slice(0, 1), feature: { min: 1, max: 3 } });
  one.ok(commands.featSet({ level: 3 }));
  assert.deepEqual(featureLevelStatus(one.state), { level: 3, next: undefined });
  assert.equal(featureLevelWaitText(featureLevelStatus(one.state)), undefined);
});

test("the level rises once all members reported theirs, up to the common maximum", () => {
  const result = [
    member("n1", { feature: [1, 3], version: "0.3.0" }),
    member("n2", { feature: [1, 2], version: "0.2.0" }),
  ];
  const state = bench({ members: result, feature: { min: 1, max: 3 } });
  assert.ok(isLevelRising(state.state));
  state.ok(commands.featSet({ level: 2 }));
  assert.ok(!isLevelRising(state.state), "the third level waits for n2");
  assert.ok(isLevelRising(bench({ members: [...result, member("n3")] }).state), "n3 has reported nothing yet");
  assert.ok(isLevelRising(bench({ members: [] }).state));
});

test("the error is recognized by its name", () => {
  const { state } = bench();
  const data = proposalOf(noteSet.make({ text: "hello" }), {}, START);
  assert.throws(() => state.apply({ ...last(state), data }), { name: "UpgradeRequired", message: /note\.set/ });
});
