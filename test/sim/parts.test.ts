/** The parts on which the simulator's verdicts depend: randomness, event order, disk and quorums. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Configuration, Entry } from "../../src/server/core/raft/index.ts";
import { createDisk, type SimDisk } from "./disk.ts";
import { createLedger } from "./ledger.ts";
import { SMALL } from "./machine.ts";
import { createQueue } from "./queue.ts";
import { hasQuorum, isLegalStep } from "./quorum.ts";
import { createRandom } from "./random.ts";
import { Violation } from "./violation.ts";

const configuration = (voters: readonly string[], outgoing: readonly string[] = []): Configuration => ({
  voters,
  votersOutgoing: outgoing,
  learners: [],
  learnersNext: [],
  autoLeave: false,
});

function blankDisk(): SimDisk {
  const ledger = createLedger(configuration(["n1"]));
  const meta = { index: 0, term: 0, configuration: configuration([]) };
  const snapshot = { meta, link: ledger.root, machine: SMALL.create(0), storages: new Map<string, number>() };
  return createDisk(ledger, { behind: ledger.root, snapshot });
}

const entry = (index: number, term: number): Entry => ({
  index,
  term,
  kind: "normal",
  data: Uint8Array.of(index, term),
});
const write = (entries: readonly Entry[], sync = true) =>
  ({ kind: "write", write: { entries, hardState: undefined, sync } }) as const;

test("a seed repeats its numbers, and another seed gives others", () => {
  const draw = (seed: number) => Array.from({ length: 50 }, createRandom(seed).bits);
  assert.deepEqual(draw(7), draw(7));
  assert.notDeepEqual(draw(7), draw(8));
});

test("events are in time order, and at equal times in scheduling order", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 9 })), (times) => {
      const queue = createQueue<number>();
      times.forEach((at, order) => {
        queue.push(at, order);
      });
      const expected = times.map((at, order) => ({ at, order })).sort((a, b) => a.at - b.at || a.order - b.order);
      assert.deepEqual(
        times.map(() => queue.pop()),
        expected.map(({ order }) => order),
      );
      assert.equal(queue.pop(), undefined);
    }),
  );
});

test("a power loss keeps synced data and a prefix of whole writes", () => {
  const seen = new Set<number>();
  for (let seed = 0; seed < 60; seed += 1) {
    const disk = blankDisk();
    disk.finish(write([entry(1, 2), entry(2, 2)]));
    disk.finish(write([entry(3, 2)], false));
    disk.finish(write([entry(4, 2), entry(5, 2)], false));
    assert.equal(disk.lastIndex, 5);
    assert.equal(disk.durable.last.index, 2);
    disk.crash("power", write([entry(6, 2)]), createRandom(seed));
    seen.add(disk.lastIndex);
  }
  assert.deepEqual([...seen].sort(), [2, 3, 5, 6]);
});

test("a killed process keeps what it wrote, synced or not", () => {
  const disk = blankDisk();
  disk.finish(write([entry(1, 2)], false));
  disk.crash("process", undefined, createRandom(1));
  assert.equal(disk.lastIndex, 1);
});

test("an entry replaces everything from its index on, and only a power loss before the sync restores it", () => {
  const disk = blankDisk();
  disk.finish(write([entry(1, 2), entry(2, 2), entry(3, 2)]));
  disk.finish(write([entry(2, 3)], false));
  assert.equal(disk.lastIndex, 2);
  assert.equal(disk.at(2)?.term, 3);
  assert.equal(disk.durableAt(3)?.term, 2);
});

test("two logs that differ below a common index and term break log matching", () => {
  const ledger = createLedger(configuration(["n1"]));
  ledger.link(ledger.origin, entry(2, 2));
  ledger.link(ledger.origin, entry(2, 3));
  assert.throws(() => ledger.link(ledger.origin, { ...entry(2, 2), data: Uint8Array.of(9) }), Violation);
});

test("a node that lost synced entries does not count as intact", () => {
  const disk = blankDisk();
  disk.finish(write([entry(1, 2), entry(2, 2)]));
  assert.equal(disk.isWhole(), true);
  disk.damage("lost-end", createRandom(3));
  assert.equal(disk.isWhole(), false);
});

test("a joint configuration needs both majorities", () => {
  const joint = configuration(["a", "b", "c"], ["c", "d", "e"]);
  const of = (ids: string) => hasQuorum(joint, (id) => ids.includes(String(id)));
  assert.equal(of("abc"), false);
  assert.equal(of("acd"), true);
  assert.equal(of("cde"), false);
});

test("a step of two voters at once is legal only through a joint configuration", () => {
  const before = configuration(["a", "b", "c"]);
  const after = configuration(["a", "d", "e"]);
  assert.equal(isLegalStep(before, after), false);
  assert.equal(isLegalStep(before, configuration(["a", "d", "e"], ["a", "b", "c"])), true);
  assert.equal(isLegalStep(configuration(["a", "d", "e"], ["a", "b", "c"]), after), true);
  assert.equal(isLegalStep(before, configuration([])), false);
});
