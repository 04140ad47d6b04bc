/** Stored parts of a provider's error: classified terms, and none of its text. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { ErrorBody, providerErrorIn } from "../../../src/server/upstream/provider-error.ts";

const BODIES: readonly (readonly [name: string, body: unknown, type: string | null, code: string | null])[] = [
  [
    "compat",
    { error: { type: "insufficient_quota", code: "quota.exceeded", message: "m" } },
    "insufficient_quota",
    "quota.exceeded",
  ],
  ["messages", { type: "error", error: { type: "overloaded_error", message: "m" } }, "overloaded_error", null],
  ["a numeric code", { error: { code: 429, status: "RESOURCE_EXHAUSTED" } }, "RESOURCE_EXHAUSTED", "429"],
  ["in a list", [{ error: { code: 503, status: "UNAVAILABLE" } }], "UNAVAILABLE", "503"],
  ["at the top", { type: "about", code: "DeploymentNotFound" }, "about", "DeploymentNotFound"],
  ["a sentence", { error: { type: "the prompt said hello", code: "hello there" } }, null, null],
  ["a key", { error: { type: "sk-proj-9aB3xQ7pL2mN8vR4", code: "gwk_a1B2c3D4_x9y8z7w6" } }, null, null],
  ["controls", { error: { type: "a\u001b[2J", code: "a\nb" } }, null, null],
  ["too long", { error: { type: "word_".repeat(40), code: "x".repeat(65) } }, null, null],
  ["other values", { error: { type: ["a"], code: { a: 1 } } }, null, null],
  ["a text", { error: "model_not_found" }, null, null],
  ["null", null, null, null],
];

for (const [name, body, type, code] of BODIES) {
  test(`an error is classified: ${name}`, () => {
    assert.deepEqual(providerErrorIn(JSON.stringify(body)), { type, code });
  });
}

test("a body is read at its end, in pieces, in any encoding, and one that is too long or broken is ignored", () => {
  const plain = Buffer.from(JSON.stringify({ error: { type: "server_error", code: null, message: "x".repeat(500) } }));
  const bodies = [
    ["identity", plain, "server_error"],
    ["GZIP", gzipSync(plain), "server_error"],
    ["deflate", deflateSync(plain), "server_error"],
    ["br", brotliCompressSync(plain), "server_error"],
    ["gzip", plain, null],
    ["br", brotliCompressSync(Buffer.alloc(64 << 20, " ")), null],
    ["identity", Buffer.concat([Buffer.alloc(20 << 10, " "), plain]), null],
    ["identity", Buffer.alloc(0), null],
  ] as const;
  for (const [encoding, bytes, type] of bodies) {
    const body = new ErrorBody(encoding);
    for (let at = 0; at < bytes.length; at += 100) body.add(bytes.subarray(at, at + 100));
    assert.equal(body.reported.type, null, "not before its end");
    body.end();
    assert.equal(body.reported.type, type, encoding);
  }
});
