/** The log on a real disk: appended, replaced, compacted and installed entries, and what a restart finds. */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Storage } from "../../../../src/server/cluster/storage/index.ts";
import { encodeConfChange } from "../../../../src/server/core/raft/index.ts";
import { digestOf } from "../../../../src/server/core/state/index.ts";
import { bootstrap, contents, entries, entry, makeDir, open, voters } from "./fixtures.ts";

async function begun(t: TestContext): Promise<{ readonly dir: string; readonly storage: Storage }> {
  const dir = makeDir(t);
  const storage = await open(t, dir);
  await bootstrap(storage);
  await storage.log.append({ entries: [], hardState: { term: 2, vote: "a", commit: 1 }, sync: true });
  return { dir, storage };
}

async function reopened(t: TestContext, dir: string, storage: Storage): Promise<Storage> {
  await storage.close();
  return open(t, dir);
}

const append = (storage: Storage, added: readonly ReturnType<typeof entry>[]) =>
  storage.log.append({ entries: added, hardState: undefined, sync: true });

test("a new directory is empty: no entry, no snapshot, no member, no vote", async (t) => {
  const { log } = await open(t, makeDir(t));
  assert.equal(log.isBlank, true);
  assert.deepEqual([log.firstIndex(), log.lastIndex(), log.term(0), log.term(1)], [1, 0, 0, undefined]);
  assert.deepEqual(log.initialState(), {
    hardState: { term: 0, vote: undefined, commit: 0 },
    configuration: voters(),
  });
  assert.deepEqual(log.snapshot(), { index: 0, term: 0, configuration: voters() });
});

test("a directory with only a vote is not empty, and the vote survives", async (t) => {
  const dir = makeDir(t);
  const storage = await open(t, dir);
  await storage.log.append({ entries: [], hardState: { term: 7, vote: "c", commit: 0 }, sync: true });
  const { log } = await reopened(t, dir, storage);
  assert.equal(log.isBlank, false);
  assert.deepEqual(log.initialState().hardState, { term: 7, vote: "c", commit: 0 });
});

test("the first configuration is a snapshot at index 1 of term 1, written once", async (t) => {
  const dir = makeDir(t);
  const storage = await open(t, dir);
  await bootstrap(storage, voters("a", "b"));
  await assert.rejects(storage.log.bootstrap(voters("a")), /not blank/);
  const { log, state } = await reopened(t, dir, storage);
  assert.deepEqual([log.isBlank, log.firstIndex(), log.lastIndex(), log.term(1)], [false, 2, 1, 1]);
  assert.deepEqual(log.initialState().configuration, voters("a", "b"));
  assert.deepEqual(log.initialState().hardState, { term: 1, vote: undefined, commit: 1 });
  assert.equal(state().applied.index, 1);
});

test("a bootstrap interrupted before its log was written starts over", async (t) => {
  const dir = makeDir(t);
  const storage = await open(t, dir);
  await storage.state().write([{ key: "member/old", value: "1{}" }], { index: 1, term: 1, now: 0 }, "0".repeat(32));
  const again = await reopened(t, dir, storage);
  assert.equal(again.state().applied.index, 0);
  await bootstrap(again);
  const rows = [];
  for await (const slice of (await reopened(t, dir, again)).state().load()) rows.push(...slice);
  assert.deepEqual(rows, [["member/a", "1{}"]]);
});

test("appended entries are there after a restart, byte for byte", async (t) => {
  const { dir, storage } = await begun(t);
  await append(storage, entries(2, 40, 2));
  const before = contents(storage);
  assert.equal(before.length, 39);
  const again = await reopened(t, dir, storage);
  assert.deepEqual(contents(again), before);
  assert.equal(again.log.byteLength, storage.log.byteLength);
  assert.deepEqual(
    [1, 2, 40, 41].map((at) => again.log.term(at)),
    [1, 2, 2, undefined],
  );
});

test("conflicting entries are replaced with all that follow, and a restart finds none of them (bug 25)", async (t) => {
  const { dir, storage } = await begun(t);
  await append(storage, entries(2, 30, 2));
  await storage.log.append({
    entries: entries(11, 13, 4),
    hardState: { term: 4, vote: undefined, commit: 5 },
    sync: true,
  });
  const expected = [...entries(2, 10, 2), ...entries(11, 13, 4)].map(
    ({ index, term, data }) => `${index}/${term} ${Buffer.from(data).toString()}`,
  );
  assert.deepEqual(contents(storage), expected);
  let again = await reopened(t, dir, storage);
  assert.deepEqual(contents(again), expected);
  assert.equal(again.log.byteLength, storage.log.byteLength);
  await append(again, entries(14, 20, 4));
  again = await reopened(t, dir, again);
  assert.equal(again.log.lastIndex(), 20);
});

test("a log can be replaced from its first entry, and twice in a row", async (t) => {
  const { dir, storage } = await begun(t);
  for (const term of [2, 3, 4]) {
    const hardState = { term, vote: term === 2 ? "a" : undefined, commit: 1 };
    await storage.log.append({ entries: entries(2, 2 + term, term), hardState, sync: true });
  }
  assert.deepEqual(contents(await reopened(t, dir, storage)), contents(storage));
});

test("entries are returned up to a number of bytes, and at least one", async (t) => {
  const { storage } = await begun(t);
  await append(storage, entries(2, 9, 2, 100));
  const indexes = (low: number, high: number, bytes: number) =>
    storage.log.entries(low, high, bytes).map(({ index }) => index);
  assert.deepEqual(indexes(2, 10, 1), [2]);
  assert.deepEqual(indexes(2, 10, 299), [2, 3]);
  assert.deepEqual(indexes(2, 10, 300), [2, 3, 4]);
  assert.deepEqual(indexes(8, 10, 10_000), [8, 9]);
  for (const [low, high] of [
    [1, 3],
    [2, 11],
    [5, 5],
  ] as const) {
    assert.throws(() => storage.log.entries(low, high, 1), RangeError);
  }
});

test("entries dropped from memory are read from the disk", async (t) => {
  const { dir, storage } = await begun(t);
  const size = 64 * 1024;
  for (let from = 2; from <= 602; from += 100) await append(storage, entries(from, from + 99, 2, size));
  const expected = entries(2, 4, 2, size).map(({ data }) => Buffer.from(data));
  const read = (from: Storage) => from.log.entries(2, 5, 10 * size).map(({ data }) => Buffer.from(data));
  assert.deepEqual(read(storage), expected);
  assert.deepEqual(read(await reopened(t, dir, storage)), expected);
});

test("the commit index alone is written without a sync and found again", async (t) => {
  const { dir, storage } = await begun(t);
  await append(storage, entries(2, 9, 2));
  await storage.log.append({ entries: [], hardState: { term: 2, vote: "a", commit: 8 }, sync: false });
  const { log } = await reopened(t, dir, storage);
  assert.deepEqual(log.initialState().hardState, { term: 2, vote: "a", commit: 8 });
});

test("input that would break the log is refused as a bug, and nothing is written", async (t) => {
  const { dir, storage } = await begun(t);
  await storage.log.append({ entries: entries(2, 9, 2), hardState: { term: 2, vote: "a", commit: 5 }, sync: true });
  const hard = { term: 2, vote: "a", commit: 5 };
  for (const [write, message] of [
    [{ entries: [entry(11, 2)], hardState: undefined, sync: true }, /does not follow/],
    [{ entries: [entry(5, 2)], hardState: undefined, sync: true }, /replaces a committed one/],
    [{ entries: [entry(10, 2), entry(12, 2)], hardState: undefined, sync: true }, /not contiguous/],
    [{ entries: [entry(10, 3)], hardState: undefined, sync: true }, /of a term that was not stored/],
    [{ entries: [entry(10, 2)], hardState: undefined, sync: false }, /are to be synced/],
    [{ entries: [], hardState: { ...hard, term: 3 }, sync: false }, /are to be synced/],
    [{ entries: [], hardState: { ...hard, term: 1 }, sync: true }, /would decrease/],
    [{ entries: [], hardState: { ...hard, commit: 4 }, sync: true }, /would decrease/],
    [{ entries: [], hardState: { ...hard, commit: 10 }, sync: true }, /beyond the log/],
    [{ entries: [], hardState: { ...hard, vote: "b" }, sync: true }, /vote would change/],
  ] as const) {
    await assert.rejects(storage.log.append(write), message);
  }
  assert.equal(contents(await reopened(t, dir, storage)).length, 8);
});

test("a second append is refused while one is running", async (t) => {
  const { storage } = await begun(t);
  const first = append(storage, entries(2, 3, 2));
  assert.throws(() => append(storage, entries(4, 5, 2)), /under way/);
  assert.equal(storage.log.lastIndex(), 1, "what is not durable is not served");
  await first;
  assert.equal(storage.log.lastIndex(), 3);
});

test("a recorded snapshot drops the entries it covers, in steps between which appends continue", async (t) => {
  const { dir, storage } = await begun(t);
  const rows = [{ key: "key/1", value: "1{}" }];
  for (let from = 2; from <= 9_002; from += 1_000) await append(storage, entries(from, from + 999, 2, 50));
  await storage.state().write(rows, { index: 9_000, term: 2, now: 5 }, digestWith("key/1"));
  const meta = { index: 9_000, term: 2, configuration: voters("a") };
  const record = await storage.state().writeSnapshot(meta, new AbortController().signal);
  const recording = storage.log.recordSnapshot(record, 8_999);
  for (let at = 10_002; at < 10_012; at++) await append(storage, [entry(at, 2)]);
  await recording;
  const check = (it: Storage) => {
    assert.deepEqual([it.log.firstIndex(), it.log.lastIndex(), it.log.term(8_999)], [9_000, 10_011, 2]);
    assert.deepEqual(it.log.snapshotRecord, record);
    assert.equal(it.log.term(8_998), undefined);
    assert.throws(() => it.log.entries(8_999, 9_001, 1), RangeError);
    assert.equal(contents(it).length, 1_012);
  };
  check(storage);
  const again = await reopened(t, dir, storage);
  check(again);
  assert.equal(again.log.byteLength, storage.log.byteLength);
  assert.equal(again.log.initialState().hardState.commit, 9_000);
});

test("entries after the snapshot can be kept, and a snapshot of another log is refused", async (t) => {
  const { dir, storage } = await begun(t);
  await append(storage, entries(2, 50, 2));
  await storage.state().write([], { index: 40, term: 2, now: 0 }, digestWith());
  const meta = { index: 40, term: 2, configuration: voters("a") };
  const record = await storage.state().writeSnapshot(meta, new AbortController().signal);
  await assert.rejects(storage.log.recordSnapshot({ ...record, term: 3 }, 1), /not of this log/);
  await assert.rejects(storage.log.recordSnapshot(record, 41), /are kept/);
  await storage.log.recordSnapshot(record, 20);
  const again = await reopened(t, dir, storage);
  assert.deepEqual([again.log.firstIndex(), again.log.snapshot().index], [21, 40]);
});

test("the configuration is that of the snapshot and of applied changes only", async (t) => {
  const { dir, storage } = await begun(t);
  const change = (nodeId: string) =>
    encodeConfChange({ transition: "auto", changes: [{ type: "add-learner", nodeId }], context: new Uint8Array(0) });
  await append(storage, [
    { index: 2, term: 2, kind: "conf-change", data: change("b") },
    entry(3, 2),
    { index: 4, term: 2, kind: "conf-change", data: change("c") },
  ]);
  const learners = (it: Storage) => it.log.initialState().configuration.learners;
  assert.deepEqual(learners(storage), []);
  await storage.state().write([], { index: 3, term: 2, now: 0 }, digestWith());
  const again = await reopened(t, dir, storage);
  assert.deepEqual(learners(again), ["b"]);
  assert.equal(again.log.initialState().hardState.commit, 3, "what is applied was committed");
});

/** Returns the digest of the rows of a bootstrap and of others. */
function digestWith(...keys: readonly string[]): string {
  return digestOf(["member/a", ...keys].map((key) => [key, "1{}"] as const));
}
