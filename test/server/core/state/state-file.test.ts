import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  createStateDecoder,
  createStateEncoder,
  digestOf,
  MAX_VALUE_BYTES,
  StateFormatError,
} from "../../../../src/server/core/state/index.ts";

type Row = readonly [string, string];

function encode(rows: readonly Row[]): Buffer {
  const encoder = createStateEncoder();
  return Buffer.concat([encoder.header(), ...rows.map(([key, value]) => encoder.row(key, value)), encoder.end()]);
}

function decode(bytes: Uint8Array, cuts: readonly number[] = []): readonly Row[] {
  const decoder = createStateDecoder();
  const rows: Row[] = [];
  let from = 0;
  for (const cut of [...cuts].sort((a, b) => a - b)) {
    const at = Math.max(from, Math.min(cut, bytes.length));
    // The decoder must not keep a chunk, which is overwritten after each push.
    const chunk = Uint8Array.from(bytes.subarray(from, at));
    rows.push(...decoder.push(chunk));
    chunk.fill(0xee);
    from = at;
  }
  rows.push(...decoder.push(bytes.subarray(from)));
  const summary = decoder.end();
  assert.deepEqual(summary, { rows: rows.length, digest: digestOf(rows) });
  return rows;
}

const rowsArbitrary = fc
  .uniqueArray(
    fc.tuple(
      fc.stringMatching(/^[!-~]{1,20}$/),
      fc.string({ unit: "grapheme", maxLength: 30 }).filter((text) => text.isWellFormed()),
    ),
    { selector: ([key]) => key, maxLength: 20 },
  )
  .map((rows) => rows.toSorted(([a], [b]) => (a < b ? -1 : 1)));

test("the bytes of a state match the documented ones", () => {
  assert.equal(
    encode([["a/b", "1é"]]).toString("hex"),
    [
      Buffer.from("GWSTATE1").toString("hex"),
      "00000003",
      Buffer.from("a/b").toString("hex"),
      "00000003",
      Buffer.from("1é").toString("hex"),
      "ffffffff",
      "0000000000000001",
      digestOf([["a/b", "1é"]]),
    ].join(""),
  );
});

test("rows survive a round trip, however the bytes are cut", () => {
  fc.assert(
    fc.property(rowsArbitrary, fc.array(fc.nat(600)), (rows, cuts) => {
      assert.deepEqual(decode(encode(rows), cuts), rows);
    }),
  );
});

test("bytes can arrive one at a time", () => {
  const rows: readonly Row[] = [
    ["a", ""],
    ["b", "x".repeat(300)],
  ];
  const bytes = encode(rows);
  assert.deepEqual(decode(bytes, Array.from(bytes.keys())), rows);
});

test("any changed byte and any truncation is detected", () => {
  const bytes = encode([
    ["key/a", "1{}"],
    ["key/b", "1[]"],
  ]);
  for (let at = 0; at < bytes.length; at += 1) {
    const damaged = Buffer.from(bytes);
    damaged[at] = (damaged[at] ?? 0) ^ 0x01;
    assert.throws(() => decode(damaged), StateFormatError, `byte ${at}`);
    assert.throws(() => decode(bytes.subarray(0, at)), StateFormatError, `cut at ${at}`);
  }
  assert.throws(() => decode(Buffer.concat([bytes, Buffer.of(0)])), StateFormatError);
  const decoder = createStateDecoder();
  decoder.push(bytes);
  assert.throws(() => decoder.push(Buffer.of(0)), StateFormatError);
});

test("any bytes are decoded or refused with the decoder's own error", () => {
  const magic = Buffer.from("GWSTATE1");
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), fc.boolean(), (noise, isLike) => {
      try {
        decode(isLike ? Buffer.concat([magic, noise]) : noise);
      } catch (error) {
        assert.ok(error instanceof StateFormatError, String(error));
      }
    }),
  );
});

test("a length above the limit is refused before its bytes arrive", () => {
  const header = Buffer.from("GWSTATE1");
  const long = Buffer.alloc(4);
  long.writeUInt32BE(513);
  assert.throws(() => createStateDecoder().push(Buffer.concat([header, long])), StateFormatError);
  const value = Buffer.from([0, 0, 0, 1, 0x61, 0, 0, 0, 0]);
  value.writeUInt32BE(MAX_VALUE_BYTES + 1, 5);
  assert.throws(() => createStateDecoder().push(Buffer.concat([header, value])), StateFormatError);
});

test("the encoder writes nothing that the decoder would refuse", () => {
  const encoder = createStateEncoder();
  encoder.row("b", "1");
  for (const key of ["b", "a", "", "c d", "é", "x".repeat(513)]) {
    assert.throws(() => encoder.row(key, "1"), StateFormatError, key);
  }
  assert.throws(() => encoder.row("c", "x".repeat(MAX_VALUE_BYTES + 1)), StateFormatError);
});
