/** A node's knowledge of its own removal: its source, and the configurations that revoke it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createRemovalDetector } from "../../../../src/server/cluster/members/detect-removal.ts";
import type { Configuration } from "../../../../src/server/core/raft/index.ts";
import { memoryLog } from "../support/outcome.ts";

const of = (...voters: readonly string[]): Configuration => ({
  voters,
  votersOutgoing: [],
  learners: [],
  learnersNext: [],
  autoLeave: false,
});
const WITH = of("n1", "n2", "n3");
const WITHOUT = of("n2", "n3");
const AS_LEARNER: Configuration = { ...WITHOUT, learners: ["n1"] };

interface Start {
  readonly kept?: number;
  readonly canRejoin?: boolean;
  readonly configuration?: Configuration;
  readonly appliedIndex?: number;
}

function start({ kept, canRejoin = false, configuration = WITH, appliedIndex = 10 }: Start = {}) {
  const written: (number | undefined)[] = [];
  const removal = createRemovalDetector({
    nodeId: "n1",
    storage: {
      removedAt: () => kept,
      setRemovedAt: async (index) => void written.push(index),
    },
    canRejoin,
    configuration,
    appliedIndex,
    log: memoryLog().log,
    onChange: () => undefined,
    onFault: (error) => assert.fail(String(error)),
  });
  return { removal, written };
}

for (const [what, configuration, index, isKnown] of [
  ["of the removal itself", WITH, 20, true],
  ["of a time before the removal", WITH, 19, true],
  ["after the removal, with the node as a voter", WITH, 21, false],
  ["after the removal, with the node as a learner", AS_LEARNER, 21, false],
  ["after the removal, without the node", WITHOUT, 21, true],
] as const) {
  test(`a configuration ${what} ${isKnown ? "leaves the node removed" : "makes it a member again"}`, async () => {
    const { removal, written } = start();
    removal.onMemberReport(20);
    removal.onConfiguration(configuration, index);
    await new Promise(setImmediate);
    assert.equal(removal.isKnown(), isKnown);
    assert.deepEqual(written, isKnown ? [20] : [20, undefined]);
  });
}

for (const [what, options, isKnown] of [
  ["has no record of its removal is a member", {}, false],
  ["has a record of its removal does not serve", { kept: 20, configuration: WITHOUT, appliedIndex: 20 }, true],
  [
    "has a record of its removal and applied less does not serve",
    { kept: 20, configuration: WITH, appliedIndex: 19 },
    true,
  ],
  ["was admitted after its recorded removal is a member", { kept: 20, appliedIndex: 21 }, false],
] as const) {
  test(`a node that ${what} when it starts`, () => {
    assert.equal(start(options).removal.isKnown(), isKnown);
  });
}

for (const [canRejoin, isTold, isFinal] of [
  [false, false, true],
  [false, true, true],
  [true, false, false],
  [true, true, true],
] as const) {
  const by = isTold ? "the leader tells it" : "a member answers so";
  test(`a removal that ${by} is ${isFinal ? "" : "not "}final where the node ${canRejoin ? "may" : "cannot"} rejoin`, () => {
    const { removal, written } = start({ canRejoin });
    assert.equal(removal.isFinal(), false);
    if (isTold) removal.onLeaderReport(20);
    else removal.onMemberReport(20);
    // A repeated notice changes nothing.
    removal.onMemberReport(30);
    assert.deepEqual([removal.isKnown(), removal.isFinal()], [true, isFinal]);
    assert.ok(written.length <= 1);
  });
}
