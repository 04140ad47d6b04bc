/** The text of virtual keys: minted, recognized, and nothing similar accepted. */

import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { test } from "node:test";
import { crc32 } from "node:zlib";
import fc from "fast-check";
import { digestOf, isSameDigest, mintKey, parseKey } from "../../../src/server/auth/index.ts";

const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

test("a minted key has the documented form, and only the hash of its secret is stored", () => {
  const { id, text, digest } = mintKey(randomBytes);
  assert.match(text, /^gwk_[0-9A-Za-z]{8}_[A-Za-z0-9_-]{43}[0-9A-Za-z]{6}$/);
  const secret = text.slice(13, 56);
  assert.equal(text.slice(4, 12), id);
  assert.equal(digest, createHash("sha256").update(secret).digest("hex"));
  assert.equal(Buffer.from(secret, "base64url").length, 32);
});

test("the checksum is the CRC-32 of the preceding text, in base 62", () => {
  const { text } = mintKey(() => new Uint8Array(32));
  assert.equal(text.slice(0, 56), `gwk_00000000_${"A".repeat(43)}`);
  const value = [...text.slice(56)].reduce((sum, digit) => sum * 62 + BASE62.indexOf(digit), 0);
  assert.equal(value, crc32(text.slice(0, 56)));
});

test("a minted key is parsed back", () => {
  for (let count = 0; count < 200; count++) {
    const { id, text, digest } = mintKey(randomBytes);
    const key = parseKey(text);
    assert.ok(key);
    assert.equal(key.id, id);
    assert.ok(isSameDigest(digestOf(key.secret), digest));
  }
});

test("a rotated key keeps its id and has another secret", () => {
  const first = mintKey(randomBytes);
  const second = mintKey(randomBytes, first.id);
  assert.equal(second.id, first.id);
  assert.ok(!isSameDigest(second.digest, first.digest));
});

test("a key with any character replaced is not recognized", () => {
  const { text } = mintKey(randomBytes);
  fc.assert(
    fc.property(fc.nat(text.length - 1), fc.integer({ min: 0x20, max: 0x7e }), (at, code) => {
      const other = String.fromCharCode(code);
      fc.pre(other !== text[at]);
      assert.equal(parseKey(text.slice(0, at) + other + text.slice(at + 1)), undefined);
    }),
  );
});

test("no other text is parsed as a key", () => {
  const { text } = mintKey(randomBytes);
  for (const other of [
    "",
    "gwk_",
    `${text}\n`,
    ` ${text}`,
    text.slice(1),
    text.slice(0, -1),
    `${text}0`,
    text.toUpperCase(),
  ]) {
    assert.equal(parseKey(other), undefined, JSON.stringify(other));
  }
});

test("digests that differ or are malformed are unequal", () => {
  const { digest } = mintKey(randomBytes);
  assert.ok(!isSameDigest("", ""));
  assert.ok(!isSameDigest(digest, digest.slice(2)));
  assert.ok(
    !isSameDigest(
      digest,
      digest.replace(/^../, (byte) => (byte === "00" ? "01" : "00")),
    ),
  );
});
