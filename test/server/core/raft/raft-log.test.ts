/** The log across its durable boundary: appends, truncations, hints, hand-outs and their completion. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { createMemoryLog, type Entry } from "../../../../src/server/core/raft/index.ts";
import {
  appendAfter,
  appendOwn,
  commitTo,
  createLog,
  durableIndex,
  entriesBetween,
  findConflictByTerm,
  firstIndex,
  isUpToDate,
  lastIndex,
  type RaftLog,
  restore,
  termAt,
} from "../../../../src/server/core/raft/raft-log.ts";
import {
  acknowledgeAppend,
  ackOf,
  handOutEntries,
  handOutSnapshot,
  hasEntriesToHandOut,
} from "../../../../src/server/core/raft/unstable.ts";

const CONFIGURATION = { voters: [1], votersOutgoing: [], learners: [], learnersNext: [], autoLeave: false };

function entry(index: number, term: number, bytes = 1): Entry {
  return { index, term, kind: "normal", data: new Uint8Array(bytes) };
}

/** The first `durable` entries are on disk, the others are not; entry i has terms[i - 1]. */
function logOf(terms: readonly number[], durable = terms.length, committed = 0): RaftLog {
  const entries = terms.map((term, i) => entry(i + 1, term));
  const storage = createMemoryLog();
  storage.append(entries.slice(0, durable));
  const log = createLog(storage, committed);
  if (durable < terms.length) appendOwn(log, entries.slice(durable));
  return log;
}

function termsOf(log: RaftLog): readonly (number | undefined)[] {
  return Array.from({ length: lastIndex(log) }, (_, i) => termAt(log, i + 1));
}

test("an append truncates at the first conflicting term and nowhere else", () => {
  const cases: readonly {
    readonly after: readonly [index: number, term: number];
    readonly terms: readonly number[];
    readonly expected: readonly number[];
    readonly agreed: number | undefined;
  }[] = [
    { after: [3, 3], terms: [], expected: [1, 2, 3], agreed: 3 },
    { after: [3, 3], terms: [3, 4], expected: [1, 2, 3, 3, 4], agreed: 5 },
    { after: [1, 1], terms: [2], expected: [1, 2, 3], agreed: 2 },
    { after: [1, 1], terms: [], expected: [1, 2, 3], agreed: 1 },
    { after: [0, 0], terms: [1, 2], expected: [1, 2, 3], agreed: 2 },
    { after: [1, 1], terms: [4], expected: [1, 4], agreed: 2 },
    { after: [1, 1], terms: [2, 4, 4], expected: [1, 2, 4, 4], agreed: 4 },
    { after: [3, 2], terms: [4], expected: [1, 2, 3], agreed: undefined },
    { after: [4, 3], terms: [4], expected: [1, 2, 3], agreed: undefined },
  ];
  for (const durable of [0, 1, 2, 3]) {
    for (const { after, terms, expected, agreed } of cases) {
      const log = logOf([1, 2, 3], durable);
      const entries = terms.map((term, i) => entry(after[0] + 1 + i, term));
      assert.equal(appendAfter(log, after[0], after[1], entries), agreed, `${after} with ${durable} durable`);
      assert.deepEqual(termsOf(log), expected, `${after} with ${durable} durable`);
    }
  }
});

test("overwritten entries are handed out again, and others are not", () => {
  const log = logOf([1, 1, 1], 0);
  assert.deepEqual(
    handOutEntries(log.unstable).map(({ index }) => index),
    [1, 2, 3],
  );
  assert.equal(hasEntriesToHandOut(log.unstable), false);
  appendAfter(log, 1, 1, [entry(2, 2)]);
  assert.deepEqual(
    handOutEntries(log.unstable).map(({ index, term }) => [index, term]),
    [[2, 2]],
  );
});

test("the completion of an append makes its entries durable, unless they were overwritten or the term changed", () => {
  const log = logOf([1, 1, 1], 0);
  handOutEntries(log.unstable);
  const first = ackOf(log.unstable, 1);
  assert.deepEqual(first, { index: 3, logTerm: 1, term: 1, snapshotIndex: 0 });

  acknowledgeAppend(log.unstable, first, 2);
  assert.equal(durableIndex(log), 0, "of an earlier term");

  appendAfter(log, 2, 1, [entry(3, 2)]);
  acknowledgeAppend(log.unstable, first, 1);
  assert.equal(durableIndex(log), 0, "entry 3 was replaced and not handed out");

  handOutEntries(log.unstable);
  acknowledgeAppend(log.unstable, first, 1);
  assert.equal(durableIndex(log), 0, "entry 3 was replaced and handed out");

  acknowledgeAppend(log.unstable, ackOf(log.unstable, 2), 2);
  assert.equal(durableIndex(log), 3);
  assert.deepEqual(ackOf(log.unstable, 2), { index: 0, logTerm: 0, term: 2, snapshotIndex: 0 });
});

test("one acknowledgement covers earlier appends, and a second one changes nothing", () => {
  const log = logOf([1, 1], 0);
  handOutEntries(log.unstable);
  const early = ackOf(log.unstable, 1);
  appendOwn(log, [entry(3, 1)]);
  handOutEntries(log.unstable);
  acknowledgeAppend(log.unstable, ackOf(log.unstable, 1), 1);
  assert.equal(durableIndex(log), 3);
  acknowledgeAppend(log.unstable, early, 1);
  assert.equal(durableIndex(log), 3);
});

test("a snapshot replaces the whole log before and after it is installed", () => {
  const log = logOf([1, 1, 1], 2);
  const snapshot = { index: 9, term: 4, configuration: CONFIGURATION };
  restore(log, snapshot);
  assert.deepEqual([firstIndex(log), lastIndex(log), log.committed], [10, 9, 9]);
  assert.deepEqual([termAt(log, 9), termAt(log, 3), termAt(log, 10)], [4, undefined, undefined]);
  assert.equal(durableIndex(log), 0);
  assert.equal(ackOf(log.unstable, 4).snapshotIndex, 0, "not handed out yet");
  assert.equal(handOutSnapshot(log.unstable), snapshot);
  assert.equal(handOutSnapshot(log.unstable), undefined);
  const ack = ackOf(log.unstable, 4);
  appendOwn(log, [entry(10, 4)]);
  acknowledgeAppend(log.unstable, { ...ack, snapshotIndex: 8 }, 4);
  assert.equal(durableIndex(log), 0, "another snapshot");
  acknowledgeAppend(log.unstable, ack, 4);
  assert.equal(durableIndex(log), 9);
});

test("entries are read across the durable boundary, at least one, limited by bytes", () => {
  const log = logOf([1, 1, 1, 1, 1, 1], 3);
  const read = (low: number, high: number, maxBytes: number) =>
    entriesBetween(log, low, high, maxBytes).map(({ index }) => index);
  assert.deepEqual(read(1, 7, 100), [1, 2, 3, 4, 5, 6]);
  assert.deepEqual(read(2, 6, 100), [2, 3, 4, 5]);
  assert.deepEqual(read(1, 4, 100), [1, 2, 3]);
  assert.deepEqual(read(4, 7, 100), [4, 5, 6]);
  assert.deepEqual(read(3, 3, 100), []);
  for (const low of [1, 2, 3, 4, 5]) {
    assert.deepEqual(read(low, 7, 0), [low]);
    assert.deepEqual(read(low, 7, 2), [low, low + 1]);
  }
});

test("logs are compared by last term first, then by length", () => {
  const log = logOf([1, 2, 2]);
  const cases: readonly (readonly [index: number, term: number, expected: boolean])[] = [
    [1, 3, true],
    [9, 1, false],
    [2, 2, false],
    [3, 2, true],
    [4, 2, true],
  ];
  for (const [index, term, expected] of cases) assert.equal(isUpToDate(log, index, term), expected, `${term}/${index}`);
});

test("the hint is the last index whose term is not above the requested one", () => {
  const log = logOf([1, 1, 3, 3, 3, 5], 4);
  const cases: readonly (readonly [index: number, term: number, hint: number, hintTerm: number])[] = [
    [6, 5, 6, 5],
    [6, 4, 5, 3],
    [6, 3, 5, 3],
    [5, 2, 2, 1],
    [4, 3, 4, 3],
    [6, 0, 0, 0],
    [9, 5, 9, 0],
    [1, 1, 1, 1],
  ];
  for (const [index, term, hint, hintTerm] of cases) {
    assert.deepEqual(findConflictByTerm(log, index, term), { index: hint, term: hintTerm }, `${term}/${index}`);
  }
});

test("the hint stops at the start of the log", () => {
  const storage = createMemoryLog({ snapshot: { index: 4, term: 3, configuration: CONFIGURATION } });
  storage.append([entry(5, 3), entry(6, 5)]);
  const log = createLog(storage, 4);
  assert.deepEqual(findConflictByTerm(log, 6, 4), { index: 5, term: 3 });
  assert.deepEqual(findConflictByTerm(log, 6, 2), { index: 3, term: 0 });
  assert.deepEqual(findConflictByTerm(log, 2, 2), { index: 2, term: 0 });
});

test("the commit index only rises, and never beyond the log", () => {
  const log = logOf([1, 1, 1], 3, 2);
  assert.equal(commitTo(log, 1), false);
  assert.equal(commitTo(log, 4), false);
  assert.equal(log.committed, 2);
  assert.equal(commitTo(log, 3), true);
  assert.equal(log.committed, 3);
});

test("an in-memory log appends without gaps, compacts up to its snapshot and restarts with an installed one", () => {
  const log = createMemoryLog();
  log.append([entry(1, 1), entry(2, 1), entry(3, 2)]);
  log.append([entry(3, 3)]);
  assert.deepEqual([log.firstIndex(), log.lastIndex(), log.term(3), log.term(4), log.term(0)], [1, 3, 3, undefined, 0]);
  assert.throws(() => log.append([entry(5, 3)]), RangeError);
  assert.throws(() => log.entries(0, 2, 9), RangeError);
  assert.throws(() => log.entries(2, 5, 9), RangeError);
  assert.throws(() => log.compact(2), RangeError);
  assert.throws(() => log.createSnapshot(9, CONFIGURATION), RangeError);
  log.createSnapshot(2, CONFIGURATION);
  log.compact(2);
  assert.deepEqual([log.firstIndex(), log.term(2), log.term(1), log.snapshot().index], [3, 1, undefined, 2]);
  log.installSnapshot({ index: 8, term: 5, configuration: CONFIGURATION });
  assert.deepEqual([log.firstIndex(), log.lastIndex(), log.term(8)], [9, 8, 5]);
  assert.equal(log.initialState().configuration, CONFIGURATION);
});
