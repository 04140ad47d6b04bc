import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  createFrameDecoder,
  encodeFrame,
  FRAME_OVERHEAD_BYTES,
  type Frame,
  MAX_PAYLOAD_BYTES,
  WireError,
} from "../../../../src/server/cluster/wire/index.ts";

const anyFrame = fc.record(
  {
    kind: fc.integer({ min: 0, max: 255 }),
    id: fc.integer({ min: 0, max: 0xffff_ffff }),
    isLast: fc.boolean(),
    payload: fc.uint8Array({ maxLength: 300 }),
  },
  { noNullPrototype: true },
);

/** Yields `bytes` in pieces of the given lengths, repeatedly. */
function* pieces(bytes: Buffer, lengths: readonly number[]): Generator<Buffer> {
  for (let at = 0, n = 0; at < bytes.length; n++) {
    const length = lengths[n % lengths.length] ?? 1;
    yield bytes.subarray(at, at + length);
    at += length;
  }
}

function decodeAll(chunks: Iterable<Buffer>, limit?: number): Frame[] {
  const decoder = createFrameDecoder(limit);
  const frames: Frame[] = [];
  for (const chunk of chunks) frames.push(...decoder.push(chunk));
  return frames;
}

test("frames survive a round trip, however the bytes are cut", () => {
  fc.assert(
    fc.property(
      fc.array(anyFrame, { maxLength: 8 }),
      fc.array(fc.integer({ min: 1, max: 200 }), { minLength: 1, maxLength: 20 }),
      (frames, lengths) => {
        const bytes = Buffer.concat(frames.map(({ payload, ...head }) => encodeFrame(head, payload)));
        const decoded = decodeAll(pieces(bytes, lengths));
        assert.deepEqual(
          decoded.map(({ payload, ...head }) => ({ ...head, payload: Uint8Array.from(payload) })),
          frames,
        );
      },
    ),
  );
});

test("a frame matches the protocol byte for byte", () => {
  const frame = encodeFrame({ kind: 0x20, id: 7, isLast: true }, Buffer.from("ab"), Buffer.from("c"));
  assert.equal(frame.toString("hex"), "0000000f" + "01" + "20" + "0001" + "00000007" + "352441c2" + "616263");
});

test("the largest frame passes, and one byte more is refused on both sides", () => {
  const largest = encodeFrame({ kind: 1 }, Buffer.alloc(MAX_PAYLOAD_BYTES));
  assert.equal(largest.readUInt32BE(0), 8_388_608);
  assert.equal(decodeAll(pieces(largest, [65_536])).length, 1);
  assert.throws(() => encodeFrame({ kind: 1 }, Buffer.alloc(MAX_PAYLOAD_BYTES), Buffer.alloc(1)), RangeError);
  const over = Buffer.from(largest.subarray(0, 4));
  over.writeUInt32BE(8_388_609);
  assert.throws(() => decodeAll([over]), WireError);
});

test("any invalid frame is one error and ends the stream", () => {
  const good = encodeFrame({ kind: 1 }, Buffer.from("payload"));
  const broken = (change: (frame: Buffer) => void): Buffer => {
    const frame = Buffer.from(good);
    change(frame);
    return frame;
  };
  const cases: readonly (readonly [string, Buffer])[] = [
    ["length too small", broken((frame) => frame.writeUInt32BE(11, 0))],
    ["version", broken((frame) => frame.writeUInt8(2, 4))],
    ["flags", broken((frame) => frame.writeUInt16BE(2, 6))],
    ["checksum", broken((frame) => frame.writeUInt8(0, FRAME_OVERHEAD_BYTES))],
  ];
  for (const [what, frame] of cases) {
    const decoder = createFrameDecoder();
    assert.throws(() => [...decoder.push(frame)], WireError, what);
    assert.throws(() => [...decoder.push(good)], WireError, `${what}, afterwards`);
  }
});

test("an invalid frame is refused by its header, whatever length it claims", () => {
  const long = encodeFrame({ kind: 1 }, Buffer.alloc(100_000));
  for (const [value, at] of [
    [2, 4],
    [0x80, 6],
    [2, 7],
  ] as const) {
    const head = Buffer.from(long.subarray(0, 8));
    head.writeUInt8(value, at);
    for (const length of [1, 5, 8]) assert.throws(() => decodeAll(pieces(head, [length])), WireError, `byte ${at}`);
  }
});

test("a limit refuses a longer frame by its length alone, and can be raised between two frames", () => {
  const long = encodeFrame({ kind: 2 }, Buffer.alloc(5_000));
  assert.throws(() => decodeAll([long.subarray(0, 4)], 4_096), WireError);
  const decoder = createFrameDecoder(4_096);
  const kinds: number[] = [];
  for (const { kind } of decoder.push(Buffer.concat([encodeFrame({ kind: 1 }), long]))) {
    decoder.setLimit(10_000);
    kinds.push(kind);
  }
  assert.deepEqual(kinds, [1, 2]);
});

test("an announced length is not trusted: memory grows with the received bytes", () => {
  const head = encodeFrame({ kind: 1 }, Buffer.alloc(MAX_PAYLOAD_BYTES)).subarray(0, 100);
  const before = process.memoryUsage().arrayBuffers;
  const decoders = Array.from({ length: 500 }, () => {
    const decoder = createFrameDecoder();
    assert.deepEqual([...decoder.push(head)], []);
    return decoder;
  });
  const grown = process.memoryUsage().arrayBuffers - before;
  assert.ok(grown < 500 * 16_384, `${grown} bytes for ${decoders.length} beginnings of 8 MiB frames`);
});

test("random bytes and changed frames decode to frames or to the one error", () => {
  const changed = fc
    .tuple(anyFrame, fc.array(fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 })), { minLength: 1, maxLength: 4 }))
    .map(([{ payload, ...head }, changes]) => {
      const frame = encodeFrame(head, payload);
      for (const [at, value] of changes) frame.writeUInt8(value, at % frame.length);
      return frame;
    });
  const random = fc.uint8Array({ maxLength: 400 }).map((bytes) => Buffer.from(bytes));
  fc.assert(
    fc.property(fc.oneof(changed, random), fc.integer({ min: 1, max: 50 }), (bytes, length) => {
      try {
        for (const { payload } of decodeAll(pieces(bytes, [length]))) assert.ok(payload.length <= bytes.length);
      } catch (error) {
        if (!(error instanceof WireError)) throw error;
      }
    }),
    { numRuns: 2_000 },
  );
});
