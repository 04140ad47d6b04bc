/**
 * Order of the driver's steps: durable, then sent, then applied; one write at a time. Source: cluster reference, 2.2.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { configuration, driverBench, ELECTION_TICKS, entry, textOf } from "../support/driver-bench.ts";

const APPEND = { type: "MsgApp", term: 2, logTerm: 1, index: 1 } as const;

const textsOf = (entries: readonly { readonly data: Uint8Array }[] = []): readonly string[] => entries.map(textOf);

test("a follower acknowledges and applies entries only after their write has completed", () => {
  const bench = driverBench();
  bench.receive({ ...APPEND, commit: 2, entries: [entry(2, 2)] });
  assert.deepEqual(
    bench.trace.filter((line) => !line.startsWith("status")),
    ["write 2/2"],
  );
  bench.endWrite();
  const found = bench.trace.filter((line) => line !== "status follower 2");
  assert.deepEqual(found.slice(0, 2), ["write 2/2", "written"]);
  assert.deepEqual(found.slice(2).toSorted(), ["apply 2", "send MsgAppResp to b"]);
  assert.equal(bench.sent[0]?.index, 2);
});

test("a vote is sent only once it is durable", () => {
  const bench = driverBench();
  bench.receive({ type: "MsgVote", term: 2, index: 1, logTerm: 1 });
  assert.deepEqual(bench.sent, []);
  assert.deepEqual(bench.writing?.hardState, { term: 2, vote: "b", commit: 1 });
  assert.equal(bench.writing?.sync, true);
  bench.endWrite();
  assert.deepEqual(
    bench.sent.map(({ type, reject }) => ({ type, reject })),
    [{ type: "MsgVoteResp", reject: false }],
  );
});

test("a refused vote waits for the disk, too", () => {
  const bench = driverBench();
  bench.receive({ ...APPEND, entries: [entry(2, 2)] });
  bench.receive({ type: "MsgVote", from: "c", term: 3, index: 1, logTerm: 1, transfer: true });
  bench.endWrite();
  assert.equal(
    bench.sent.some(({ type }) => type === "MsgVoteResp"),
    false,
  );
  bench.endWrite();
  assert.equal(bench.sent.find(({ type }) => type === "MsgVoteResp")?.reject, true);
});

test("a candidate asks for votes only once its own is durable", () => {
  const bench = driverBench();
  bench.driver.campaign();
  bench.settle();
  bench.receive({ type: "MsgPreVoteResp", term: 2 });
  assert.equal(bench.writing?.hardState?.vote, "a");
  assert.equal(
    bench.sent.some(({ type }) => type === "MsgVote"),
    false,
  );
  bench.endWrite();
  assert.equal(bench.sent.filter(({ type }) => type === "MsgVote").length, 2);
});

test("a leader sends before its own write has completed, and counts itself only afterwards", () => {
  const bench = driverBench();
  bench.lead();
  bench.propose("x");
  assert.deepEqual(bench.trace, ["send MsgApp to b", "write 3/2"]);
  bench.acknowledge(3);
  assert.equal(bench.driver.status().commit, 2, "one durable copy of three is no majority");
  bench.endWrite();
  assert.equal(bench.driver.status().commit, 3);
  assert.equal(textsOf(bench.applied).at(-1), "x");
});

test("a single voter applies and answers only after its own write", () => {
  const bench = driverBench(configuration("a"));
  bench.driver.campaign();
  bench.settle();
  const outcome = bench.propose("x");
  assert.deepEqual(outcome, []);
  assert.equal(bench.writing?.sync, true);
  bench.endWrite();
  assert.deepEqual(outcome, [{ kind: "applied", index: 3, result: { kind: "ok", value: "x" } }]);
});

test("input during a write goes into the next write", () => {
  const bench = driverBench();
  bench.lead();
  bench.propose("one");
  const first = bench.writing;
  bench.propose("two");
  bench.propose("three");
  assert.equal(bench.writing, first);
  assert.deepEqual(textsOf(first?.entries), ["one"]);
  bench.endWrite();
  assert.deepEqual(textsOf(bench.writing?.entries), ["two", "three"]);
  bench.endWrite();
  assert.equal(bench.writing, undefined);
});

test("messages of a later append are not sent at the end of the earlier one", () => {
  const bench = driverBench();
  bench.receive({ ...APPEND, entries: [entry(2, 2)] });
  bench.receive({ ...APPEND, index: 2, logTerm: 2, entries: [entry(3, 2)] });
  bench.receive({ ...APPEND, index: 3, logTerm: 2, entries: [entry(4, 2)] });
  bench.endWrite();
  assert.deepEqual(
    bench.sent.map(({ index }) => index),
    [2],
  );
  bench.endWrite();
  assert.deepEqual(
    bench.sent.map(({ index }) => index),
    [2, 3, 4],
  );
});

test("one write is limited in entries and bytes", () => {
  for (const more of [{ maxBatchEntries: 2 }, { maxBatchBytes: 10 }]) {
    const bench = driverBench(undefined, more);
    bench.lead();
    for (const text of ["first", "aaaaa", "bbbbb", "ccccc", "ddddd"]) bench.propose(text);
    const sizes: number[] = [];
    for (; bench.writing !== undefined; bench.endWrite()) sizes.push(bench.writing.entries.length);
    assert.deepEqual(sizes, [1, 2, 2]);
  }
});

test("a new commit index of a follower alone is written at the next tick, without sync", () => {
  const bench = driverBench();
  bench.receive({ ...APPEND, entries: [entry(2, 2)] });
  bench.settle();
  bench.receive({ type: "MsgHeartbeat", commit: 2 });
  assert.equal(bench.applied.at(-1)?.index, 2);
  assert.equal(bench.writing, undefined);
  bench.driver.tick();
  assert.deepEqual(bench.writing, { entries: [], hardState: { term: 2, vote: undefined, commit: 2 }, sync: false });
  bench.endWrite();
  assert.equal(bench.log.initialState().hardState.commit, 2);
});

test("a leader's commit causes no write before the next tick", () => {
  const bench = driverBench();
  bench.lead();
  bench.propose("x");
  bench.endWrite();
  bench.acknowledge(3);
  assert.equal(bench.applied.at(-1)?.index, 3);
  assert.equal(bench.writing, undefined);
  assert.ok(bench.log.initialState().hardState.commit < 3);
  bench.driver.tick();
  assert.deepEqual(bench.writing, { entries: [], hardState: { term: 2, vote: "a", commit: 3 }, sync: false });
  bench.endWrite();
  assert.equal(bench.log.initialState().hardState.commit, 3);
});

test("entries replaced while they are gathered are not written, and the first write stays complete", () => {
  const bench = driverBench();
  bench.receive({ ...APPEND, entries: [entry(2, 2), entry(3, 2)] });
  bench.receive({ ...APPEND, index: 3, logTerm: 2, entries: [entry(4, 2), entry(5, 2), entry(6, 2)] });
  bench.receive({ type: "MsgApp", from: "c", term: 3, logTerm: 2, index: 4, entries: [entry(5, 3)] });
  assert.deepEqual(textsOf(bench.writing?.entries), ["2/2", "3/2"]);
  bench.endWrite();
  assert.deepEqual(textsOf(bench.writing?.entries), ["4/2", "5/3"]);
  assert.equal(bench.writing?.hardState?.term, 3);
  bench.endWrite();
  assert.equal(bench.log.lastIndex(), 5);
  assert.equal(bench.log.term(5), 3);
});

test("entries that replace the ones in flight follow in the next write", () => {
  const bench = driverBench();
  bench.receive({ ...APPEND, entries: [entry(2, 2), entry(3, 2), entry(4, 2)] });
  bench.receive({ type: "MsgApp", from: "c", term: 3, logTerm: 2, index: 2, entries: [entry(3, 3)] });
  bench.endWrite();
  assert.equal(bench.log.lastIndex(), 4);
  bench.endWrite();
  assert.deepEqual(
    bench.log.entries(2, 4, 1_000).map(({ term }) => term),
    [2, 3],
  );
  assert.equal(bench.log.lastIndex(), 3);
});

const SNAPSHOT = { index: 9, term: 2, configuration: configuration("a", "b", "c") };

test("an installation waits for the write in flight, and a write waits for the installation", () => {
  const bench = driverBench();
  bench.receive({ ...APPEND, entries: [entry(2, 2)] });
  bench.receive({ type: "MsgSnap", term: 2, snapshot: SNAPSHOT });
  assert.equal(bench.installing, undefined);
  bench.endWrite();
  assert.deepEqual(bench.installing, SNAPSHOT);
  bench.receive({ ...APPEND, index: 9, logTerm: 2, entries: [entry(10, 2)] });
  assert.deepEqual(textsOf(bench.writing?.entries), []);
  const before = bench.sent.length;
  bench.endInstall();
  assert.equal(bench.sent[before]?.index, 9, "the snapshot is acknowledged when it is durable");
  assert.deepEqual(textsOf(bench.writing?.entries), ["10/2"]);
  bench.endWrite();
  assert.deepEqual([bench.log.firstIndex(), bench.log.lastIndex()], [10, 10]);
  assert.equal(bench.driver.status().applied, 9);
});

test("entries committed before a snapshot are applied before it is installed", () => {
  const bench = driverBench();
  bench.mayApply = false;
  bench.receive({ ...APPEND, commit: 2, entries: [entry(2, 2)] });
  bench.endWrite();
  assert.deepEqual(bench.applied, []);
  bench.receive({ type: "MsgSnap", term: 2, snapshot: SNAPSHOT });
  assert.equal(bench.installing, undefined, "entry 2 belongs to the state that is replaced");
  bench.mayApply = true;
  bench.driver.resume();
  assert.deepEqual(
    bench.applied.map(({ index }) => index),
    [2],
  );
  assert.deepEqual(bench.installing, SNAPSHOT);
  bench.endInstall();
  assert.equal(bench.driver.status().applied, 9);
});

test("applying pauses while the state's disk writes lag, and continues with resume", () => {
  const bench = driverBench();
  bench.lead();
  bench.mayApply = false;
  const outcome = bench.propose("x");
  bench.settle();
  bench.acknowledge(3);
  assert.equal(bench.driver.status().commit, 3);
  assert.equal(bench.applied.at(-1)?.index, 2);
  bench.driver.tick();
  assert.equal(bench.applied.at(-1)?.index, 2);
  assert.deepEqual(outcome, []);
  bench.mayApply = true;
  bench.driver.resume();
  assert.equal(bench.applied.at(-1)?.index, 3);
  assert.equal(outcome.length, 1);
});

test("a leader sends heartbeats while it prepares an entry, and applies it and the later ones afterwards", () => {
  const bench = driverBench();
  bench.lead();
  bench.preparing.add(4);
  const outcomes = ["before", "long", "after"].map((text) => bench.propose(text));
  bench.settle();
  bench.acknowledge(5);
  assert.equal(bench.driver.status().commit, 5);
  bench.sent.length = 0;
  for (let tick = 0; tick < 3 * ELECTION_TICKS; tick += 1) {
    bench.driver.tick();
    bench.receive({ type: "MsgHeartbeatResp" });
  }
  assert.equal(bench.driver.status().role, "leader");
  assert.ok(bench.sent.filter(({ type, to }) => type === "MsgHeartbeat" && to === "b").length >= 10);
  assert.deepEqual(
    [bench.applied.at(-1)?.index, bench.driver.status().applied, ...outcomes.map(({ length }) => length)],
    [3, 3, 1, 0, 0],
  );
  const read = bench.read();
  bench.receive({ type: "MsgHeartbeatResp", context: bench.sent.at(-1)?.context });
  assert.deepEqual(read, [], "a read waits for the entry");

  bench.preparing.clear();
  bench.driver.resume();
  assert.deepEqual(bench.applied.slice(-3).map(textOf), ["before", "long", "after"]);
  assert.deepEqual(outcomes[1], [{ kind: "applied", index: 4, result: { kind: "ok", value: "long" } }]);
  assert.equal(outcomes[2]?.length, 1);
  assert.deepEqual(read, [{ kind: "readable", index: 5 }]);
});

test("several inputs in a batch become one write", () => {
  const bench = driverBench();
  bench.lead();
  bench.driver.batch(() => {
    for (const text of ["one", "two", "three"]) bench.propose(text);
    assert.deepEqual(bench.trace, []);
  });
  assert.deepEqual(textsOf(bench.writing?.entries), ["one", "two", "three"]);
});

test("the inputs of a batch that throws are processed, and nested batches are one", () => {
  const bench = driverBench();
  bench.lead();
  assert.throws(
    () =>
      bench.driver.batch(() => {
        bench.driver.batch(() => bench.propose("one"));
        assert.equal(bench.writing, undefined);
        bench.propose("two");
        throw new Error("of the batch");
      }),
    /of the batch/,
  );
  assert.deepEqual(textsOf(bench.writing?.entries), ["one", "two"]);
});

test("a snapshot message becomes a transfer and not a message", () => {
  const bench = driverBench();
  bench.lead();
  bench.log.createSnapshot(2, configuration("a", "b", "c"));
  bench.log.compact(2);
  bench.driver.resume();
  bench.receive({ type: "MsgAppResp", from: "c", reject: true, index: 2, hintIndex: 1, hintTerm: 1 });
  bench.receive({ type: "MsgHeartbeatResp", from: "c" });
  assert.ok(bench.trace.includes("snapshot to c"), bench.trace.join("\n"));
  assert.equal(
    bench.sent.some(({ type }) => type === "MsgSnap"),
    false,
  );
});

test("after stop nothing is called, by completed writes or by later input", () => {
  const bench = driverBench();
  bench.lead();
  bench.propose("x");
  bench.driver.stop();
  bench.trace.length = 0;
  bench.endWrite();
  bench.acknowledge(3);
  bench.driver.tick();
  bench.driver.reportUnreachable("b");
  bench.driver.reportSnapshot("b", true);
  bench.driver.resume();
  bench.driver.batch(() => undefined);
  bench.driver.stop();
  assert.deepEqual(bench.trace, ["written"]);
});
