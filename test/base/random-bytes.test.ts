import assert from "node:assert/strict";
import { test } from "node:test";
import { pooledRandomBytes } from "../../src/base/random-bytes.ts";

test("pooled random bytes have the requested length, are never equal, and do not change", () => {
  const lengths = [0, 1, 12, 32, 64, 65, 5_000];
  const chunks = Array.from({ length: 3_000 }, (_, at) => pooledRandomBytes(lengths[at % lengths.length] ?? 0));
  const copies = chunks.map((bytes) => bytes.toString("hex"));
  for (const [at, bytes] of chunks.entries()) {
    assert.equal(bytes.length, lengths[at % lengths.length]);
    assert.equal(bytes.toString("hex"), copies[at]);
  }
  const long = copies.filter((text) => text.length >= 24);
  assert.equal(new Set(long).size, long.length);
  assert.ok(long.every((text) => /[^0]/.test(text)));
});
