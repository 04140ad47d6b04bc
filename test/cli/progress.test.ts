import assert from "node:assert/strict";
import { test } from "node:test";
import { progressOf, sizeText } from "../../src/cli/progress-line.ts";
import { bufferIo } from "./buffer-io.ts";

const SIZES: readonly (readonly [bytes: number, text: string])[] = [
  [0, "0 B"],
  [999, "999 B"],
  [1_000, "1.00 kB"],
  [9_994, "9.99 kB"],
  [9_995, "10.0 kB"],
  [99_949, "99.9 kB"],
  [99_950, "100 kB"],
  [999_499, "999 kB"],
  [999_500, "1.00 MB"],
  [12_345_678, "12.3 MB"],
  [5e15, "5000 TB"],
];

for (const [bytes, text] of SIZES) {
  test(`${bytes} bytes are formatted as ${text}`, () => assert.equal(sizeText(bytes), text));
}

test("a line is rewritten at most ten times a second", () => {
  let now = 0;
  const io = bufferIo({ isTerminal: () => true, now: () => now });
  const progress = progressOf(io, "sent", 4_000);
  for (; now <= 200; now += 20) progress.add(100);
  assert.equal(
    io.err().replaceAll("\r\u001b[K", "|"),
    "|sent 100 B of 4.00 kB|sent 600 B of 4.00 kB|sent 1.10 kB of 4.00 kB",
  );
  progress.clear();
  progress.clear();
  assert.equal(io.err().replaceAll("\r\u001b[K", "|").slice(-3), "kB|");
});

test("without a terminal nothing is printed", () => {
  const io = bufferIo();
  const progress = progressOf(io, "sent");
  progress.add(1);
  progress.clear();
  assert.equal(io.err(), "");
});
