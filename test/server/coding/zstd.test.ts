/** Zstandard for versions of Node without it, with frames of its own command line and with hostile frames. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { zstdDecoder, zstdEncoder } from "../../../src/server/coding/zstd.ts";

const TEXT = '{"model":"sim-1","messages":[{"role":"user","content":"hello there"}]}';

/** Base64 of the output of `zstd` for the text. */
const FRAMES = {
  "a stream without its size":
    "KLUv/QRYDQIAYkQPF5Cn6UIhamBbtv8gP2Wrf/DMMGRJ/ccS61gXtaQB71q202k6GJiMmoXtHqKVYWcHgMyayQVhCLl9FaBZBQCyHfNI",
  "without a checksum":
    "KLUv/QBYDQIAYkQPF5Cn6UIhamBbtv8gP2Wrf/DMMGRJ/ccS61gXtaQB71q202k6GJiMmoXtHqKVYWcHgMyayQVhCLl9FaBZBQA=",
  "the highest level":
    "KLUv/QRoHQIAYgQOEaDthR24oWtL7lTNY/KkfggD1VQ/fkkAW/sysXyXDyIHx+808RuMpoV4r87unYOHcGxN3J6gMw0BAMapEj9EAcVR8yk=",
  nothing: "KLUv/SQAAQAAmenYUQ==",
};

async function through(stream: ReturnType<typeof zstdDecoder>, body: Buffer, limit = Number.POSITIVE_INFINITY) {
  stream.end(body);
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > limit) break;
  }
  return { text: Buffer.concat(chunks).toString(), bytes, chunks: chunks.length };
}

const frame = (name: keyof typeof FRAMES): Buffer => Buffer.from(FRAMES[name], "base64");
/** A frame of 128 KiB blocks of one byte, four bytes each. */
const bomb = (blocks: number, window = 0x58): Buffer =>
  Buffer.concat([
    Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, window]),
    ...Array.from({ length: blocks }, (_, i) => {
      const header = Buffer.alloc(4, 0x41);
      header.writeUIntLE(((128 << 10) << 3) | 2 | (i === blocks - 1 ? 1 : 0), 0, 3);
      return header;
    }),
  ]);
const skippable = Buffer.from([0x50, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 9, 9]);

test("frames are decoded as they were encoded", async () => {
  assert.equal((await through(zstdDecoder(), frame("a stream without its size"))).text, TEXT);
  assert.equal((await through(zstdDecoder(), frame("without a checksum"))).text, TEXT);
  assert.equal((await through(zstdDecoder(), frame("the highest level"))).text, TEXT.repeat(40));
  assert.equal((await through(zstdDecoder(), frame("nothing"))).text, "");
  assert.equal((await through(zstdDecoder(), bomb(3))).bytes, 3 * 131_072);
});

test("frames may follow each other, with skippable ones in between", async () => {
  const one = frame("without a checksum");
  const { text } = await through(zstdDecoder(), Buffer.concat([skippable, one, skippable, frame("nothing"), one]));
  assert.equal(text, TEXT + TEXT);
});

test("a nested encoding is decoded", async () => {
  for (const text of ["", "a", TEXT, "x".repeat(131_072), "y".repeat(300_000)]) {
    const encoder = zstdEncoder();
    encoder.end(Buffer.from(text));
    const chunks: Buffer[] = [];
    for await (const chunk of encoder as AsyncIterable<Buffer>) chunks.push(chunk);
    assert.equal((await through(zstdDecoder(), Buffer.concat(chunks))).text, text);
  }
});

test("a reader with a limit stops a body that decompresses to a thousand times its size", async () => {
  const body = bomb(20_000); // 80 KB, 2.6 GB
  const { bytes, chunks } = await through(zstdDecoder(), body, 1 << 20);
  assert.ok(bytes < 2 << 20 && chunks < 20, `${bytes} bytes`);
});

const whole = frame("a stream without its size");
const REFUSED: readonly (readonly [what: string, body: Buffer])[] = [
  ["text", Buffer.from(TEXT)],
  ["two bytes", Buffer.from([0x28, 0xb5])],
  ["a frame without its end", whole.subarray(0, -1)],
  ["only a header", whole.subarray(0, 6)],
  ["a frame followed by other data", Buffer.concat([whole, Buffer.from("more")])],
  ["a dictionary", Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x01, 0x58, 0x01, 0x01, 0, 0])],
  ["a window of two gigabytes", bomb(1, 0xa8)],
  ["one segment of a terabyte", Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0])],
  ["a reserved block", Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58, 0x07, 0, 0])],
  ["a block that is too large", Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58, 0xf9, 0xff, 0xff])],
];
for (const [what, body] of REFUSED) {
  test(`${what} is refused`, async () => {
    await assert.rejects(through(zstdDecoder(), body));
  });
}

test("changed bytes cause nothing worse than an error", async () => {
  for (let at = 0; at < whole.length; at++) {
    const changed = Buffer.from(whole);
    changed[at] = (changed[at] ?? 0) ^ 0x55;
    await through(zstdDecoder(), changed, 1 << 20).catch(() => undefined);
  }
});
