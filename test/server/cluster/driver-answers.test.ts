/** Answers of the driver to proposals and reads: once each, and never more than it knows. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { WriteOutcome } from "../../../src/server/cluster/consensus/driver-types.ts";
import type { ConfChange } from "../../../src/server/core/raft/index.ts";
import { configuration, type DriverBench, driverBench, ELECTION_TICKS, entry, THREE } from "./support/driver-bench.ts";

const NO_CONTEXT = new Uint8Array(0);

function change(transition: ConfChange["transition"], ...changes: ConfChange["changes"]): ConfChange {
  return { transition, changes, context: NO_CONTEXT };
}

function proposeConf(bench: DriverBench, what: ConfChange): WriteOutcome[] {
  const outcomes: WriteOutcome[] = [];
  bench.driver.proposeConf(what, (outcome) => outcomes.push(outcome));
  return outcomes;
}

/** Answers the heartbeat round of a read by `b`. */
function confirmReads(bench: DriverBench): void {
  const round = bench.sent.findLast(({ type, to }) => type === "MsgHeartbeat" && to === "b");
  assert.ok(round !== undefined, "no round of heartbeats was begun");
  bench.receive({ type: "MsgHeartbeatResp", context: round.context });
}

test("a proposal is answered once, when it is applied, with its own result", () => {
  const bench = driverBench();
  bench.lead();
  const [one, two] = [bench.propose("one"), bench.propose("two")];
  bench.settle();
  assert.deepEqual([one, two], [[], []]);
  bench.acknowledge(3);
  assert.deepEqual(one, [{ kind: "applied", index: 3, result: { kind: "ok", value: "one" } }]);
  assert.deepEqual(two, []);
  bench.acknowledge(4);
  assert.deepEqual(two, [{ kind: "applied", index: 4, result: { kind: "ok", value: "two" } }]);
  bench.receive({ type: "MsgHeartbeat", term: 9, from: "c" });
  bench.driver.stop();
  assert.deepEqual([one.length, two.length], [1, 1]);
});

test("a node that does not lead says so at once, and names the leader if known", () => {
  const bench = driverBench();
  assert.deepEqual(bench.propose("x"), [{ kind: "not-leader", lead: undefined }]);
  bench.receive({ type: "MsgHeartbeat", term: 2, from: "c" });
  assert.deepEqual(bench.propose("x"), [{ kind: "not-leader", lead: "c" }]);
});

test("a proposal that is certainly not appended is refused with its reason", () => {
  const bench = driverBench(undefined, { maxUncommittedEntries: 1 });
  bench.lead();
  bench.propose("one");
  assert.deepEqual(bench.propose("two"), [{ kind: "refused", code: "busy" }]);

  const fresh = driverBench();
  fresh.lead(false);
  const learner = change("auto", { type: "add-learner", nodeId: "d" });
  assert.deepEqual(proposeConf(fresh, learner), [{ kind: "refused", code: "no_leader" }]);
  fresh.acknowledge(2);
  const removeAll = THREE.voters.map((nodeId) => ({ type: "remove-node" as const, nodeId }));
  assert.deepEqual(proposeConf(fresh, change("auto", ...removeAll)), [{ kind: "refused", code: "invalid" }]);
  assert.deepEqual(proposeConf(fresh, learner), []);
  assert.deepEqual(proposeConf(fresh, learner), [{ kind: "refused", code: "change_pending" }]);
  fresh.settle();
  fresh.acknowledge(3);
  fresh.driver.transferLeader("b");
  assert.deepEqual(fresh.propose("x"), [{ kind: "refused", code: "busy" }]);
});

test("when leadership is lost, all pending proposals become unknown, at once and once", () => {
  const bench = driverBench();
  const term = bench.lead();
  const outcomes = [bench.propose("one"), bench.propose("two")];
  bench.receive({ type: "MsgHeartbeat", term: term + 1, from: "c" });
  assert.deepEqual(outcomes, [[{ kind: "unknown" }], [{ kind: "unknown" }]]);
  bench.settle();
  bench.receive({ type: "MsgApp", term: term + 1, from: "c", index: 4, logTerm: 2, commit: 4 });
  bench.settle();
  assert.equal(bench.applied.at(-1)?.index, 4, "it was applied in the end");
  assert.deepEqual(outcomes, [[{ kind: "unknown" }], [{ kind: "unknown" }]]);
});

test("an entry of another leader at the same index does not answer a proposal", () => {
  const bench = driverBench();
  const term = bench.lead();
  const outcome = bench.propose("mine");
  bench.receive({
    type: "MsgApp",
    term: term + 1,
    from: "c",
    index: 2,
    logTerm: term,
    entries: [entry(3, 3)],
    commit: 3,
  });
  bench.settle();
  assert.equal(bench.applied.at(-1)?.term, 3);
  assert.deepEqual(outcome, [{ kind: "unknown" }]);
});

test("stop makes all pending and later requests unknown", () => {
  const bench = driverBench();
  bench.lead();
  const [write, read] = [bench.propose("x"), bench.read()];
  bench.driver.stop();
  assert.deepEqual([write, read], [[{ kind: "unknown" }], [{ kind: "unknown" }]]);
  assert.deepEqual([bench.propose("y"), bench.read()], [[{ kind: "unknown" }], [{ kind: "unknown" }]]);
  assert.deepEqual(proposeConf(bench, change("auto")), [{ kind: "unknown" }]);
  assert.deepEqual([write.length, read.length], [1, 1]);
});

test("a read is answered after a round of heartbeats, at the commit index of its arrival", () => {
  const bench = driverBench();
  bench.lead();
  const read = bench.read();
  assert.deepEqual(read, []);
  confirmReads(bench);
  assert.deepEqual(read, [{ kind: "readable", index: 2 }]);
});

test("a confirmed read waits until its index is applied", () => {
  const bench = driverBench();
  bench.lead();
  bench.mayApply = false;
  bench.propose("x");
  bench.settle();
  bench.acknowledge(3);
  const read = bench.read();
  confirmReads(bench);
  assert.deepEqual(read, []);
  bench.mayApply = true;
  bench.driver.resume();
  assert.deepEqual(read, [{ kind: "readable", index: 3 }]);
});

test("a read without an answering leader is abandoned after two election timeouts", () => {
  const bench = driverBench();
  bench.receive({ type: "MsgHeartbeat", term: 2, from: "c" });
  bench.settle();
  const read = bench.read();
  for (let tick = 1; tick < 2 * ELECTION_TICKS; tick += 1) {
    bench.driver.tick();
    bench.receive({ type: "MsgHeartbeat", from: "c" });
    bench.settle();
  }
  assert.deepEqual(read, []);
  bench.driver.tick();
  assert.deepEqual(read, [{ kind: "unknown" }]);
});

test("a follower's read is answered by its leader, and is unknown if the leader changed", () => {
  const bench = driverBench();
  bench.receive({ type: "MsgHeartbeat", term: 2, from: "c" });
  bench.settle();
  const [first, second] = [bench.read(), bench.read()];
  const [asked] = bench.sent.filter(({ type }) => type === "MsgReadIndex");
  assert.equal(asked?.to, "c");
  bench.receive({ type: "MsgReadIndexResp", from: "c", term: 0, index: 1, context: asked?.context });
  assert.deepEqual([first, second], [[{ kind: "readable", index: 1 }], []]);
  bench.receive({ type: "MsgHeartbeat", term: 3, from: "b" });
  assert.deepEqual(second, [{ kind: "unknown" }]);
});

test("a read at a deposed leader is not answered from its committed state", () => {
  const bench = driverBench();
  const term = bench.lead();
  const read = bench.read();
  bench.receive({ type: "MsgHeartbeat", term: term + 1, from: "c" });
  confirmReads(bench);
  assert.deepEqual(read, [{ kind: "unknown" }]);
});

test("a simple membership change answers when it is applied", () => {
  const bench = driverBench();
  bench.lead();
  const outcome = proposeConf(bench, change("auto", { type: "add-learner", nodeId: "d" }));
  bench.settle();
  assert.deepEqual(outcome, []);
  bench.acknowledge(3);
  assert.deepEqual(outcome, [{ kind: "applied", index: 3, result: undefined }]);
  assert.deepEqual(bench.driver.status().configuration.learners, ["d"]);
});

test("a joint change answers when the joint configuration is left, not when it is entered", () => {
  const bench = driverBench();
  bench.lead();
  const removeBoth = [
    { type: "remove-node", nodeId: "b" },
    { type: "remove-node", nodeId: "c" },
  ] as const;
  const outcome = proposeConf(bench, change("joint-implicit", ...removeBoth));
  bench.settle();
  bench.acknowledge(3);
  bench.settle();
  assert.deepEqual(bench.driver.status().configuration.votersOutgoing, ["a", "b", "c"]);
  assert.deepEqual(outcome, []);
  bench.acknowledge(4);
  bench.settle();
  assert.deepEqual(bench.driver.status().configuration, configuration("a"));
  assert.deepEqual(outcome, [{ kind: "applied", index: 3, result: undefined }]);
});

test("a joint change whose leader is lost before it is left becomes unknown, once", () => {
  const bench = driverBench();
  const term = bench.lead();
  const swap = [
    { type: "add-node", nodeId: "d" },
    { type: "remove-node", nodeId: "c" },
  ] as const;
  const outcome = proposeConf(bench, change("joint-implicit", ...swap));
  bench.settle();
  bench.acknowledge(3);
  bench.receive({ type: "MsgHeartbeat", term: term + 1, from: "b" });
  assert.deepEqual(outcome, [{ kind: "unknown" }]);
  bench.driver.stop();
  assert.equal(outcome.length, 1);
});

test("the commit of an applied membership change is synced at once", () => {
  const bench = driverBench();
  bench.lead();
  proposeConf(bench, change("auto", { type: "add-learner", nodeId: "d" }));
  bench.endWrite();
  bench.acknowledge(3);
  assert.deepEqual(bench.writing, { entries: [], hardState: { term: 2, vote: "a", commit: 3 }, sync: true });
  bench.endWrite();
  assert.equal(bench.log.initialState().hardState.commit, 3);
});

test("after a start applied entries count as committed even if the commit index was not written", () => {
  const first = driverBench(configuration("a"));
  first.driver.campaign();
  first.settle();
  first.propose("x");
  first.settle();
  assert.ok(first.log.initialState().hardState.commit < 3);
  const again = driverBench(configuration("a"), { log: first.log, applied: 3 });
  assert.equal(again.driver.status().commit, 3);
  assert.deepEqual(again.applied, []);
});
