/** Membership operations of a leader. Source: cluster reference, section 2.6. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { idsOf, mostAdvanced } from "../../../../src/server/cluster/members/membership.ts";
import { ELECTION_TICKS, type LeaderOptions, leaderBench, memberOf, requestOf } from "../support/leader-bench.ts";
import { failure } from "../support/outcome.ts";

const SILENT = 2 * ELECTION_TICKS;

test("a new node becomes a learner with all its details", async () => {
  const bench = leaderBench();
  await bench.membership.admit(requestOf("d"), bench.deadline(1_000));
  assert.deepEqual(bench.changes, ["add-learner d (auto)"]);
  assert.deepEqual(bench.added, [memberOf("d")]);
});

test("a member with the same data directory is admitted without a membership change", async () => {
  const bench = leaderBench();
  await bench.membership.admit(requestOf("b"), bench.deadline(1_000));
  bench.members.set("c", memberOf("c", { storage: "" }));
  await bench.membership.admit(requestOf("c", { storage: "any" }), bench.deadline(1_000));
  assert.deepEqual(bench.changes, []);
});

test("a member that returns with an empty directory is removed and added again once the old one is silent", async () => {
  const bench = leaderBench();
  const back = requestOf("c", { storage: "another" });
  await assert.rejects(bench.membership.admit(back, bench.deadline(1_000)), failure("conflict", /is alive/));
  assert.deepEqual(bench.changes, []);
  bench.silent.set("c", SILENT);
  await bench.membership.admit(back, bench.deadline(1_000));
  assert.deepEqual(bench.changes, ["remove-node c (auto)", "add-learner c (auto)"]);
  assert.equal(bench.members.get("c")?.storage, "another");
});

test("an empty directory does not replace a member if the rest would have no quorum", async () => {
  const bench = leaderBench();
  bench.silent.set("b", SILENT).set("c", SILENT);
  await assert.rejects(
    bench.membership.admit(requestOf("c", { storage: "another" }), bench.deadline(1_000)),
    failure("conflict", /no majority/),
  );
  assert.deepEqual(bench.changes, []);
});

test("a node that cannot be admitted gets the reason, and nothing changes", async () => {
  const bench = leaderBench({ featureLevel: 3 });
  const cases = [
    [requestOf("d", { raft_addr: "b:7000", feature: [1, 3] }), "conflict", /b:7000 is that of member b/],
    [requestOf("d", { feature: [1, 2] }), "refused", /feature level 3/],
    [requestOf("d", { feature: [4, 5] }), "refused", /feature level 3/],
  ] as const;
  for (const [request, code, message] of cases) {
    await assert.rejects(bench.membership.admit(request, bench.deadline(1_000)), failure(code, message));
  }
  const follower = leaderBench({ role: "follower" });
  await assert.rejects(
    follower.membership.admit(requestOf("d"), follower.deadline(1_000)),
    failure("no_leader", /./, { outcome: "not-leader" }),
  );
  assert.deepEqual([bench.changes, follower.changes], [[], []]);
});

test("a change waits for the previous one, as long as its caller waits", async () => {
  const bench = leaderBench();
  bench.outcomes.push({ kind: "refused", code: "change_pending" }, { kind: "refused", code: "no_leader" });
  await bench.membership.admit(requestOf("d"), bench.deadline(1_000));
  assert.deepEqual(bench.changes, ["add-learner d (auto)"]);

  for (let at = 0; at < 100; at += 1) bench.outcomes.push({ kind: "refused", code: "change_pending" });
  await assert.rejects(bench.membership.admit(requestOf("e"), bench.deadline(500)), failure("busy"));
});

test("each way a change can fail is distinguished", async () => {
  const cases = [
    [{ kind: "unknown" }, "no_leader", { outcome: "unknown" }],
    [{ kind: "not-leader", lead: "b" }, "no_leader", { outcome: "not-leader" }],
    [{ kind: "refused", code: "invalid" }, "invalid", undefined],
  ] as const;
  for (const [outcome, code, details] of cases) {
    const bench = leaderBench();
    bench.outcomes.push(outcome);
    await assert.rejects(bench.membership.admit(requestOf("d"), bench.deadline(500)), failure(code, /./, details));
  }
});

test("concurrent changes are made one after the other", async () => {
  const bench = leaderBench();
  const deadline = bench.deadline(1_000);
  const failed = bench.membership.prune([], deadline);
  const both = [bench.membership.admit(requestOf("d"), deadline), bench.membership.prune(["a", "b", "d"], deadline)];
  await assert.rejects(failed, failure("invalid"));
  await Promise.all(both);
  assert.deepEqual(bench.changes, ["add-learner d (auto)", "remove-node c (auto)"]);
});

test("pruning to the current members changes nothing, to fewer is one change, and below a majority a joint one", async () => {
  const cases = [
    [["c", "a", "b"], []],
    [["a", "b"], ["remove-node c (auto)"]],
    [["a"], ["remove-node b, remove-node c (joint-implicit)"]],
  ] as const;
  for (const [keep, changes] of cases) {
    const bench = leaderBench();
    await bench.membership.prune(keep, bench.deadline(1_000));
    assert.deepEqual(bench.changes, changes);
    assert.deepEqual(idsOf(bench.status.configuration), [...keep].sort());
  }
});

test("a prune that would leave no member, unknown members or no live quorum is refused, and nothing changes", async () => {
  const cases = [
    [[], "invalid", /at least one/],
    [["a", "x"], "invalid", /not a member: x; members are a, b, c, l/],
    [["l"], "invalid", /has a vote/],
    [["b", "c"], "conflict", /no majority can be reached/],
    [["a", "b", "c"], "conflict", /no majority can be reached/],
  ] as const;
  for (const [keep, code, message] of cases) {
    const bench = leaderBench({ learners: ["l"] });
    bench.silent.set("b", SILENT).set("c", SILENT);
    await assert.rejects(bench.membership.prune(keep, bench.deadline(1_000)), failure(code, message));
    assert.deepEqual([bench.changes, bench.transfers], [[], []]);
  }
});

test("with one voter dead, all pruned members leave in one step, so the quorum is never lost midway", async () => {
  const bench = leaderBench();
  bench.silent.set("c", SILENT);
  await bench.membership.prune(["a"], bench.deadline(1_000));
  assert.deepEqual(bench.changes, ["remove-node b, remove-node c (joint-implicit)"]);
});

test("a pruned leader hands over to the most advanced remaining live voter and does not report done", async () => {
  const bench = leaderBench({ voters: ["a", "b", "c", "d"] });
  bench.setProgress("b", 7);
  bench.setProgress("c", 9);
  bench.setProgress("d", 10);
  bench.silent.set("d", SILENT);
  bench.onWait = (time) => {
    if (time >= 200) bench.status = { ...bench.status, role: "follower", lead: "c" };
  };
  await assert.rejects(
    bench.membership.prune(["b", "c", "d"], bench.deadline(5_000)),
    failure("no_leader", /./, { outcome: "not-leader" }),
  );
  assert.deepEqual(bench.transfers, ["c"]);
  assert.deepEqual(bench.changes, []);
});

test("a leader that cannot hand over in time says so and stays", async () => {
  const bench = leaderBench();
  await assert.rejects(
    bench.membership.prune(["b", "c"], bench.deadline(1_000)),
    failure("no_leader", /could not be handed over to b/),
  );
  assert.equal(bench.now(), 1_000);
  assert.deepEqual(bench.changes, []);
});

const LEARNER: LeaderOptions = { voters: ["a", "b", "c"], learners: ["d"] };

test("a learner becomes a voter after a catch-up round shorter than an election timeout", async () => {
  const bench = leaderBench(LEARNER);
  bench.setProgress("d", 0);
  await bench.tick(4);
  bench.status = { ...bench.status, lastIndex: 50 };
  bench.setProgress("d", 9);
  await bench.tick(4);
  assert.deepEqual(bench.changes, []);
  bench.setProgress("d", 10);
  await bench.tick(4);
  assert.deepEqual(bench.changes, ["add-node d (auto)"]);
  await bench.tick(8);
  assert.equal(bench.changes.length, 1);
});

test("a longer round starts another, and the tenth is reported once", async () => {
  const bench = leaderBench(LEARNER);
  bench.setProgress("d", 0);
  let last = 10;
  for (let round = 1; round <= 12; round += 1) {
    await bench.tick(ELECTION_TICKS + 4);
    bench.setProgress("d", last);
    last += 10;
    bench.status = { ...bench.status, lastIndex: last };
    await bench.tick(4);
  }
  assert.deepEqual(bench.changes, []);
  assert.deepEqual(
    bench.lines.filter(({ level }) => level === "warn").map(({ fields }) => fields),
    [{ member: "d", rounds: 10 }],
  );
  bench.setProgress("d", last);
  await bench.tick(4);
  assert.deepEqual(bench.changes, ["add-node d (auto)"]);
});

test("a silent learner is not promoted, and only a leader promotes or removes", async () => {
  const silent = leaderBench(LEARNER);
  silent.silent.set("d", SILENT);
  await silent.tick(40);
  const follower = leaderBench({ ...LEARNER, role: "follower", deadAfterTicks: 10 });
  follower.silent.set("b", 1_000);
  await follower.tick(40);
  assert.deepEqual([silent.changes, follower.changes, follower.probes], [[], [], []]);
});

const DEAD = 100;

test("a member silent for long is probed first and removed if it stays silent", async () => {
  const bench = leaderBench({ deadAfterTicks: DEAD });
  bench.silent.set("c", DEAD - 1);
  await bench.tick(8);
  assert.deepEqual(bench.probes, []);
  bench.silent.set("c", DEAD);
  let waitedUntil = 0;
  bench.onWait = (time) => {
    assert.deepEqual([bench.probes, bench.changes], [["c"], []]);
    waitedUntil = time;
  };
  await bench.tick(8);
  assert.ok(waitedUntil >= 1_900, `removed after ${waitedUntil} ms`);
  assert.deepEqual(bench.changes, ["remove-node c (auto)"]);
});

test("a member that answers the probe or is heard afterwards is kept", async () => {
  const answers = leaderBench({ deadAfterTicks: DEAD });
  answers.silent.set("c", DEAD);
  answers.answersProbe.add("c");
  await answers.tick(8);
  assert.deepEqual([...new Set(answers.probes)], ["c"]);
  assert.ok(answers.lines.some(({ message }) => message.includes("it is not removed")));
  assert.deepEqual(answers.changes, []);

  const result = leaderBench({ deadAfterTicks: DEAD });
  result.silent.set("c", DEAD);
  result.onWait = () => result.silent.set("c", 0);
  await result.tick(8);
  assert.deepEqual([result.probes, result.changes], [["c"], []]);
});

test("losing leadership meanwhile stops the removal", async () => {
  const bench = leaderBench({ deadAfterTicks: DEAD });
  bench.silent.set("c", DEAD);
  bench.onWait = () => {
    bench.status = { ...bench.status, role: "follower", term: 3 };
  };
  await bench.tick(8);
  assert.deepEqual(bench.changes, []);
});

test("silent members are removed one at a time, learners first", async () => {
  const bench = leaderBench({ voters: ["a", "b", "c", "d", "e"], learners: ["l"], deadAfterTicks: DEAD });
  for (const id of ["d", "e", "l"]) bench.silent.set(id, DEAD);
  for (let round = 0; round < 20; round += 1) await bench.tick(4);
  assert.deepEqual(bench.changes, ["remove-node l (auto)", "remove-node d (auto)", "remove-node e (auto)"]);
});

test("a silent member stays if the others would have no live quorum", async () => {
  const bench = leaderBench({ voters: ["a", "b", "c", "d", "e"], deadAfterTicks: DEAD });
  for (const id of ["c", "d", "e"]) bench.silent.set(id, DEAD);
  await bench.tick(16);
  assert.deepEqual(bench.changes, []);
  assert.ok(bench.lines.some(({ message }) => message === "a silent member was not removed"));
});

test("a leader does not remove itself, and without dead_after no member is removed", async () => {
  const bench = leaderBench({ deadAfterTicks: DEAD });
  bench.silent.set("a", DEAD);
  await bench.tick(40);
  const without = leaderBench();
  without.silent.set("c", 1_000_000);
  await without.tick(40);
  assert.deepEqual([bench.probes, without.probes], [[], []]);
});

test("the members are the sorted union of both halves of a configuration", () => {
  assert.deepEqual(
    idsOf({ voters: ["c", "a"], votersOutgoing: ["b", "a"], learners: ["e"], learnersNext: ["b"], autoLeave: true }),
    ["a", "b", "c", "e"],
  );
});

test("the most advanced voter is the first with the longest log", () => {
  const bench = leaderBench();
  bench.setProgress("b", 4);
  assert.equal(mostAdvanced(bench.status, ["b", "c"]), "c");
  bench.setProgress("b", 10);
  assert.equal(mostAdvanced(bench.status, ["b", "c"]), "b");
  assert.throws(() => mostAdvanced(bench.status, []), failure("conflict"));
});
