import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  fragilityOf,
  type Member,
  quorumOf,
  quorumText,
  reductionOf,
} from "../../../src/console/actions/cluster-quorum.ts";
import { learner, member, silent } from "./cluster-fixtures.ts";

const voters = (count: number): readonly Member[] => Array.from({ length: count }, (_, at) => member(`n${at + 1}`));

for (const [count, message, fragility] of [
  [0, "no voters", undefined],
  [1, "1 voter, quorum 1, tolerates no loss", "LOSING THIS ONE NODE STOPS WRITES"],
  [2, "2 voters, quorum 2, tolerates no loss", "LOSING EITHER NODE STOPS WRITES"],
  [3, "3 voters, quorum 2, tolerates the loss of 1", undefined],
  [4, "4 voters, quorum 3, tolerates the loss of 1", undefined],
  [5, "5 voters, quorum 3, tolerates the loss of 2", undefined],
  [6, "6 voters, quorum 4, tolerates the loss of 2", undefined],
  [7, "7 voters, quorum 4, tolerates the loss of 3", undefined],
] as const) {
  test(`the arithmetic of ${count} voters`, () => {
    const quorum = quorumOf(voters(count));
    assert.equal(quorumText(quorum), message);
    assert.equal(fragilityOf(quorum), fragility);
    assert.equal(quorum.isMet, count > 0);
  });
}

test("members without a vote do not count", () => {
  assert.equal(
    quorumText(quorumOf([...voters(3), learner("n4"), learner("n5")])),
    "3 voters, quorum 2, tolerates the loss of 1",
  );
});

test("the tolerance subtracts silent members, and is zero without a quorum", () => {
  const message = (there: number, gone: number) =>
    quorumText(quorumOf([...voters(there), ...Array.from({ length: gone }, (_, at) => silent(`gone${at}`))]));
  assert.equal(message(2, 1), "3 voters, quorum 2, tolerates no further loss");
  assert.equal(message(4, 1), "5 voters, quorum 3, tolerates the loss of 1 more");
  assert.equal(message(1, 2), "3 voters, quorum 2");
});

test("a member that receives a snapshot is reachable, and a silent one is not", () => {
  const members = [member("n1"), member("n2", { state: "snapshot" }), silent("n3")];
  assert.deepEqual(quorumOf(members), { voters: 3, quorum: 2, tolerates: 1, reachable: 2, isMet: true });
  assert.equal(quorumOf([member("n1"), silent("n2"), silent("n3")]).isMet, false);
});

const possible = (removed: readonly string[]) => ({ kind: "possible", removed: removed.join(",") });
const refusedReduction = (reason: string, needsRecovery = false) => ({ kind: "impossible", reason, needsRecovery });

for (const { title, members, keep, expected } of [
  {
    title: "a silent one of three is removed",
    members: [...voters(2), silent("n3")],
    keep: "n1,n2",
    expected: possible(["n3"]),
  },
  { title: "two of five are removed", members: voters(5), keep: "n1,n2,n3", expected: possible(["n4", "n5"]) },
  { title: "one of three remains", members: voters(3), keep: "n1", expected: possible(["n2", "n3"]) },
  {
    title: "a learner is removed",
    members: [...voters(3), learner("n4")],
    keep: "n1,n2,n3",
    expected: possible(["n4"]),
  },
  { title: "all members remain", members: voters(3), keep: "n1,n2,n3", expected: { kind: "nothing" } },
  {
    title: "no member remains",
    members: voters(3),
    keep: "",
    expected: refusedReduction("no member stays: tick at least one"),
  },
  {
    title: "only a learner remains",
    members: [...voters(3), learner("n4")],
    keep: "n4",
    expected: refusedReduction("none of the members that stay has a vote"),
  },
  {
    title: "no majority of the remaining ones is reachable",
    members: [...voters(3), silent("n4"), silent("n5")],
    keep: "n1,n4,n5",
    expected: refusedReduction(
      "only 1 of the 3 voters that would stay can be reached, quorum 2: nothing could be written any longer",
    ),
  },
  {
    title: "a silent one of two cannot be removed, since both must agree",
    members: [member("n1"), silent("n2")],
    keep: "n1",
    expected: refusedReduction(
      "1 of 2 voters reachable, quorum 2: no quorum, so this change would be refused too",
      true,
    ),
  },
  {
    title: "two silent ones of three cannot be removed",
    members: [member("n1"), silent("n2"), silent("n3")],
    keep: "n1",
    expected: refusedReduction(
      "1 of 3 voters reachable, quorum 2: no quorum, so this change would be refused too",
      true,
    ),
  },
  {
    title: "a reachable learner does not count for the majority",
    members: [member("n1"), silent("n2"), silent("n3"), learner("n4")],
    keep: "n1,n4",
    expected: refusedReduction(
      "1 of 3 voters reachable, quorum 2: no quorum, so this change would be refused too",
      true,
    ),
  },
  { title: "nothing is known", members: [], keep: "n1", expected: refusedReduction("the members are not known yet") },
]) {
  test(`fewer members: ${title}`, () => {
    const reduction = reductionOf(members, keep.split(","));
    assert.deepEqual(reduction.kind === "possible" ? possible(reduction.removed) : reduction, expected);
  });
}

test("every possible reduction has a majority before and after", () => {
  const some = fc.array(fc.record({ voter: fc.boolean(), isSilent: fc.boolean(), isKept: fc.boolean() }), {
    minLength: 1,
    maxLength: 9,
  });
  fc.assert(
    fc.property(some, (input) => {
      const members = input.map(({ voter, isSilent }, at) => ({
        id: `n${at}`,
        voter,
        state: isSilent ? ("silent" as const) : ("reachable" as const),
      }));
      const keep = input.flatMap(({ isKept }, at) => (isKept ? [`n${at}`] : []));
      const isDecided = (those: readonly Member[]): boolean => {
        const votes = those.filter(({ voter }) => voter);
        return votes.filter(({ state }) => state !== "silent").length * 2 > votes.length;
      };
      const isPossible =
        keep.length < members.length && isDecided(members) && isDecided(members.filter(({ id }) => keep.includes(id)));
      assert.equal(reductionOf(members, keep).kind === "possible", isPossible);
    }),
    { numRuns: 2_000 },
  );
});
