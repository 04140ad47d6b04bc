/** Configuration changes, each of their refusals, and a change as bytes. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  applyChange,
  brokenInvariant,
  changeSimply,
  enterJoint,
  isJoint,
  leaveJoint,
  membersOf,
} from "../../../../src/server/core/raft/configuration-change.ts";
import {
  type ConfChange,
  type Configuration,
  decodeConfChange,
  encodeConfChange,
} from "../../../../src/server/core/raft/index.ts";

type Single = ConfChange["changes"][number];

const NOTHING = new Uint8Array(0);
const voter = (nodeId: number): Single => ({ type: "add-node", nodeId });
const learner = (nodeId: number): Single => ({ type: "add-learner", nodeId });
const remove = (nodeId: number): Single => ({ type: "remove-node", nodeId });

function configuration(fields: Partial<Configuration>): Configuration {
  return { voters: [], votersOutgoing: [], learners: [], learnersNext: [], autoLeave: false, ...fields };
}

function changed(before: Configuration, transition: ConfChange["transition"], ...changes: Single[]): Configuration {
  const outcome = applyChange(before, { transition, changes, context: NOTHING });
  assert.equal(outcome.kind, "changed");
  return outcome.kind === "changed" ? outcome.configuration : before;
}

test("one change is simple, and several go through a joint configuration that is left automatically", () => {
  const three = configuration({ voters: [1, 2, 3] });
  const cases: readonly (readonly [changes: readonly Single[], after: Configuration])[] = [
    [[voter(4)], configuration({ voters: [1, 2, 3, 4] })],
    [[voter(3)], three],
    [[learner(4)], configuration({ voters: [1, 2, 3], learners: [4] })],
    [[learner(3)], configuration({ voters: [1, 2], learners: [3] })],
    [[remove(3)], configuration({ voters: [1, 2] })],
    [[remove(9)], three],
    [[remove(1), voter(4)], configuration({ voters: [2, 3, 4], votersOutgoing: [1, 2, 3], autoLeave: true })],
    [
      [learner(3), learner(4)],
      configuration({
        voters: [1, 2],
        votersOutgoing: [1, 2, 3],
        learners: [4],
        learnersNext: [3],
        autoLeave: true,
      }),
    ],
  ];
  for (const [changes, after] of cases) assert.deepEqual(changed(three, "auto", ...changes), after);
});

test("a joint configuration is requested in two ways, and only one is left automatically", () => {
  const one = configuration({ voters: [1] });
  assert.deepEqual(
    changed(one, "joint-implicit", voter(2)),
    configuration({ voters: [1, 2], votersOutgoing: [1], autoLeave: true }),
  );
  assert.deepEqual(
    changed(one, "joint-explicit", voter(2)),
    configuration({ voters: [1, 2], votersOutgoing: [1], autoLeave: false }),
  );
});

test("leaving drops the outgoing voters and makes the designated ones learners", () => {
  const joint = configuration({
    voters: [1, 4],
    votersOutgoing: [1, 2, 3],
    learners: [5],
    learnersNext: [3],
    autoLeave: true,
  });
  assert.deepEqual(membersOf(joint), [1, 2, 3, 4, 5]);
  assert.deepEqual(changed(joint, "auto"), configuration({ voters: [1, 4], learners: [3, 5] }));
});

test("an outgoing voter that is promoted again or removed is no longer a designated learner", () => {
  const one = configuration({ voters: [1, 2] });
  assert.deepEqual(changed(one, "auto", learner(2), voter(2)).learnersNext, []);
  assert.deepEqual(changed(one, "auto", learner(2), remove(2)).learnersNext, []);
});

test("each impossible change is refused with its reason", () => {
  const two = configuration({ voters: [1, 2] });
  const joint = configuration({ voters: [1], votersOutgoing: [1, 2] });
  const change = (transition: ConfChange["transition"], ...changes: Single[]): ConfChange => ({
    transition,
    changes,
    context: NOTHING,
  });
  const cases = [
    ["already-joint", applyChange(joint, change("auto", voter(3)))],
    ["already-joint", applyChange(joint, change("joint-explicit", voter(3)))],
    ["not-joint", applyChange(two, change("auto"))],
    ["no-voters", applyChange(configuration({ voters: [1] }), change("auto", remove(1)))],
    ["no-voters", applyChange(two, change("auto", remove(1), remove(2)))],
    ["no-voters", applyChange(configuration({}), change("joint-implicit", voter(1)))],
    ["no-voters", applyChange(configuration({ voters: [1] }), change("auto", learner(1)))],
    ["more-than-one-voter", changeSimply(two, [voter(3), voter(4)])],
    ["more-than-one-voter", changeSimply(two, [remove(2), voter(3)])],
    ["invariant", applyChange(configuration({ voters: [1, 2], learnersNext: [2] }), change("auto", voter(3)))],
    ["already-joint", enterJoint(joint, [voter(3)], true)],
    ["not-joint", leaveJoint(two)],
  ] as const;
  for (const [reason, outcome] of cases) assert.deepEqual(outcome, { kind: "refused", reason });
});

test("every invalid configuration is recognized", () => {
  const broken: readonly Partial<Configuration>[] = [
    { voters: [2, 1] },
    { voters: [1, 1] },
    { voters: [1], learners: [1] },
    { voters: [1], votersOutgoing: [2], learners: [2] },
    { voters: [1], learnersNext: [2] },
    { voters: [1, 2], votersOutgoing: [2], learnersNext: [2] },
    { voters: [1], autoLeave: true },
  ];
  for (const fields of broken) assert.notEqual(brokenInvariant(configuration(fields)), undefined);
  assert.equal(brokenInvariant(configuration({ voters: ["a", "b"], learners: ["c"] })), undefined);
});

test("no sequence of changes breaks the invariants, and consecutive majorities always overlap", () => {
  const single = fc.record({
    type: fc.constantFrom("add-node" as const, "add-learner" as const, "remove-node" as const),
    nodeId: fc.integer({ min: 1, max: 6 }),
  });
  const change = fc.record({
    transition: fc.constantFrom("auto" as const, "joint-implicit" as const, "joint-explicit" as const),
    changes: fc.array(single, { maxLength: 4 }),
    context: fc.constant(NOTHING),
  });
  fc.assert(
    fc.property(fc.array(change, { maxLength: 12 }), (changes) => {
      let before = configuration({ voters: [1, 2, 3] });
      for (const each of changes) {
        const outcome = applyChange(before, each);
        if (outcome.kind === "refused") continue;
        const after = outcome.configuration;
        assert.equal(brokenInvariant(after), undefined);
        const moved = [...before.voters, ...after.voters].filter(
          (id) => before.voters.includes(id) !== after.voters.includes(id),
        );
        if (!isJoint(before) && !isJoint(after)) assert.ok(moved.length <= 1);
        else if (isJoint(after)) assert.deepEqual(after.votersOutgoing, before.voters);
        else assert.deepEqual(after.voters, before.voters);
        before = after;
      }
    }),
  );
});

test("a change survives a round trip through its bytes", () => {
  const change: ConfChange = {
    transition: "joint-explicit",
    changes: [
      { type: "add-node", nodeId: "eu-1" },
      { type: "remove-node", nodeId: 7 },
    ],
    context: new Uint8Array([0, 255, 10]),
  };
  assert.deepEqual(decodeConfChange(encodeConfChange(change)), change);
});

test("bytes that are not a change are not read as one", () => {
  const garbage = [
    "",
    "null",
    "[]",
    "{}",
    '{"transition":"auto","changes":[]}',
    '{"transition":"auto","changes":[],"context":"","more":1}',
    '{"transition":"later","changes":[],"context":""}',
    '{"transition":"auto","changes":{},"context":""}',
    '{"transition":"auto","changes":[{"type":"add","nodeId":1}],"context":""}',
    '{"transition":"auto","changes":[{"type":"add-node","nodeId":""}],"context":""}',
    '{"transition":"auto","changes":[{"type":"add-node","nodeId":1.5}],"context":""}',
    '{"transition":"auto","changes":[{"type":"add-node"}],"context":""}',
    '{"transition":"auto","changes":[],"context":1}',
    '{"transition":"auto","changes":[],"context":"*"}',
    `{"transition":"auto","changes":[${Array(257).fill('{"type":"add-node","nodeId":1}').join()}],"context":""}`,
  ];
  for (const text of garbage) assert.throws(() => decodeConfChange(new TextEncoder().encode(text)), Error, text);
  assert.throws(() => decodeConfChange(new Uint8Array([0xff])), TypeError);
});
