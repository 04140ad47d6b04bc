/** The bytes of the log's records: they are read as written, and any changed bit is noticed. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  BadRecord,
  chainAfter,
  decodeEntry,
  decodeHardState,
  decodeSnapshotRecord,
  decodeTail,
  encodeEntry,
  encodeHardState,
  encodeSnapshotRecord,
  encodeTail,
  entryBytes,
  entryKey,
  indexOfKey,
  origin,
  type Position,
} from "../../../../src/server/cluster/storage/log-records.ts";
import { entry, voters } from "./fixtures.ts";

const count = fc.maxSafeNat();
const chain = fc.uint8Array({ minLength: 16, maxLength: 16 });
const position = fc.record({ index: count, term: count, chain });
const anyEntry = fc.record({
  index: count,
  term: count,
  kind: fc.constantFrom("normal" as const, "conf-change" as const),
  data: fc.uint8Array({ maxLength: 200 }),
});

const bytesOf = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");

test("an entry is read as written, and its size is known beforehand", () => {
  fc.assert(
    fc.property(anyEntry, chain, (written, link) => {
      const record = encodeEntry(written, link);
      const read = decodeEntry(record, written.index);
      assert.equal(record.length, entryBytes(written));
      assert.deepEqual({ ...read.entry, data: bytesOf(read.entry.data) }, { ...written, data: bytesOf(written.data) });
      assert.equal(bytesOf(read.chain), bytesOf(link));
    }),
  );
});

test("hard state, bounds and snapshot record are read as written", () => {
  const vote = fc.option(fc.string({ maxLength: 40, unit: "grapheme" }), { nil: undefined });
  fc.assert(
    fc.property(count, vote, count, (term, voted, commit) => {
      const written = { term, vote: voted, commit };
      assert.deepEqual(decodeHardState(encodeHardState(written)), written);
    }),
  );
  fc.assert(
    fc.property(count, position, position, (sequence, base, last) => {
      const read = decodeTail(encodeTail({ sequence, base, last }));
      const plain = (at: Position) => ({ ...at, chain: bytesOf(at.chain) });
      assert.deepEqual(
        { sequence: read.sequence, base: plain(read.base), last: plain(read.last) },
        {
          sequence,
          base: plain(base),
          last: plain(last),
        },
      );
    }),
  );
  const record = {
    index: 9,
    term: 3,
    configuration: { ...voters("a", "b"), learners: ["c"], autoLeave: true },
    now: 17,
    rows: 4,
    digest: "d".repeat(32),
    size: 100,
    sha256: "e".repeat(64),
  };
  assert.deepEqual(decodeSnapshotRecord(encodeSnapshotRecord(record)), record);
});

test("one changed bit or missing byte makes a record invalid", () => {
  const records: readonly (readonly [Uint8Array, (bytes: Uint8Array) => unknown])[] = [
    [encodeEntry(entry(5, 2), new Uint8Array(16)), (bytes) => decodeEntry(bytes, 5)],
    [encodeHardState({ term: 5, vote: "node-1", commit: 7 }), decodeHardState],
    [encodeTail({ sequence: 1, base: origin(0, 0), last: origin(3, 1) }), decodeTail],
  ];
  for (const [record, decode] of records) {
    decode(record);
    for (let bit = 0; bit < record.length * 8; bit++) {
      const changed = Uint8Array.from(record);
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      assert.throws(() => decode(changed), BadRecord, `bit ${bit}`);
    }
    for (let length = 0; length < record.length; length++) {
      assert.throws(() => decode(record.subarray(0, length)), BadRecord, `${length} bytes`);
    }
  }
});

test("an entry under another key is invalid", () => {
  assert.throws(() => decodeEntry(encodeEntry(entry(5, 2), new Uint8Array(16)), 6), BadRecord);
});

test("keys are in the order of their indexes", () => {
  fc.assert(
    fc.property(count, count, (a, b) => {
      assert.equal(indexOfKey(entryKey(a)), a);
      assert.equal(Math.sign(Buffer.compare(entryKey(a), entryKey(b))), Math.sign(a - b));
    }),
  );
});

test("the chain hash depends on each field of an entry and on the preceding ones", () => {
  const base = entry(5, 2, "x");
  const before = new Uint8Array(16);
  const chains = [
    chainAfter(before, base),
    chainAfter(before, { ...base, index: 6 }),
    chainAfter(before, { ...base, term: 3 }),
    chainAfter(before, { ...base, kind: "conf-change" }),
    chainAfter(before, { ...base, data: Buffer.from("y") }),
    chainAfter(new Uint8Array(16).fill(1), base),
  ].map(bytesOf);
  assert.equal(new Set(chains).size, chains.length);
  assert.ok(chains.every((each) => each.length === 32));
});
