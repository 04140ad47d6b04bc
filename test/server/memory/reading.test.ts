import assert from "node:assert/strict";
import { test } from "node:test";
import { estimateParsingBytes } from "../../../src/server/memory/index.ts";

const MIB = 1 << 20;

test("prose needs memory for its copies, and many short texts for their objects", () => {
  assert.equal(estimateParsingBytes(Buffer.alloc(MIB, "a")), 4 * MIB);
  const short = JSON.stringify(Array.from({ length: 1_000 }, () => "b"));
  assert.equal(estimateParsingBytes(Buffer.from(short)), 4 * short.length + 320 + 320_000);
  const objects = JSON.stringify(Array.from({ length: 1_000 }, () => ({ type: "text", text: "b" })));
  assert.ok(estimateParsingBytes(objects) > 1_000 * 1_600);
});

test("a string needs as much memory as its bytes, except non-ASCII ones", () => {
  for (const text of ["", '{"a":["b",{"c":1}]}', '"\\"[{']) {
    assert.equal(estimateParsingBytes(text), estimateParsingBytes(Buffer.from(text)));
  }
  assert.equal(estimateParsingBytes("漢字"), 8);
});
