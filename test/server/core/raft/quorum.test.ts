/** Majorities of one list and of two, compared with the definition by sorting. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Configuration } from "../../../../src/server/core/raft/index.ts";
import { majorityIndex, majorityVote, quorumIndex, quorumVote } from "../../../../src/server/core/raft/quorum.ts";

const joint = (voters: readonly number[], votersOutgoing: readonly number[]): Configuration => ({
  voters,
  votersOutgoing,
  learners: [],
  learnersNext: [],
  autoLeave: false,
});

test("the majority index is the greatest that more than half have reached", () => {
  const cases: readonly (readonly [matches: readonly number[], index: number])[] = [
    [[], Number.POSITIVE_INFINITY],
    [[0], 0],
    [[12], 12],
    [[12, 5], 5],
    [[12, 5, 6], 6],
    [[0, 0, 9], 0],
    [[100, 101, 103, 104], 101],
    [[101, 104, 103, 103], 103],
    [[1, 2, 3, 4, 5], 3],
    [[7, 7, 7, 1, 1, 1], 1],
    [[7, 7, 7, 7, 1, 1, 1], 7],
  ];
  for (const [matches, index] of cases) {
    const voters = matches.map((_, id) => id);
    assert.equal(
      majorityIndex(voters, (id) => matches[Number(id)] ?? 0),
      index,
      matches.join(),
    );
  }
});

test("the majority index equals that of the sorted list, for any list", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(20), { minLength: 1, maxLength: 9 }), (matches) => {
      const sorted = [...matches].sort((a, b) => b - a);
      const expected = sorted[Math.floor(matches.length / 2)];
      const voters = matches.map((_, id) => id);
      assert.equal(
        majorityIndex(voters, (id) => matches[Number(id)] ?? 0),
        expected,
      );
    }),
  );
});

test("in a joint configuration both lists must have reached the index", () => {
  const matches = new Map([
    [1, 9],
    [2, 9],
    [3, 4],
    [4, 2],
    [5, 2],
  ]);
  const indexOf = (id: number | string) => matches.get(Number(id)) ?? 0;
  assert.equal(quorumIndex(joint([1, 2, 3], []), indexOf), 9);
  assert.equal(quorumIndex(joint([1, 2, 3], [3, 4, 5]), indexOf), 2);
  assert.equal(quorumIndex(joint([3, 4, 5], [1, 2, 3]), indexOf), 2);
  assert.equal(quorumIndex(joint([1, 2, 3], [1, 2]), indexOf), 9);
});

test("a vote is won with a majority, lost when none is possible, and otherwise pending", () => {
  const cases: readonly (readonly [votes: string, result: string])[] = [
    ["", "won"],
    ["y", "won"],
    ["n", "lost"],
    ["-", "pending"],
    ["yn", "lost"],
    ["y-", "pending"],
    ["n-", "lost"],
    ["yy-", "won"],
    ["yn-", "pending"],
    ["nn-", "lost"],
    ["yynn", "lost"],
    ["yyyn", "won"],
    ["yy--", "pending"],
    ["yynn-", "pending"],
    ["yyy--", "won"],
  ];
  for (const [votes, result] of cases) {
    const voters = [...votes].map((_, id) => id);
    const voteOf = (id: number | string) => (votes[Number(id)] === "-" ? undefined : votes[Number(id)] === "y");
    assert.equal(majorityVote(voters, voteOf), result, votes);
  }
});

test("in a joint configuration a vote is won with both majorities and lost with either", () => {
  const cases: readonly (readonly [granted: readonly number[], refused: readonly number[], result: string])[] = [
    [[], [], "pending"],
    [[1, 2], [], "pending"],
    [[1, 2, 4, 5], [], "won"],
    [[1, 2], [4, 5], "lost"],
    [[], [1, 2], "lost"],
    [[4, 5], [1], "pending"],
  ];
  for (const [granted, refused, result] of cases) {
    const voteOf = (id: number | string) =>
      granted.includes(Number(id)) ? true : refused.includes(Number(id)) ? false : undefined;
    assert.equal(quorumVote(joint([1, 2, 3], [4, 5, 6]), voteOf), result, `${granted}/${refused}`);
  }
});
