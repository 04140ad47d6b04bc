import assert from "node:assert/strict";
import { test } from "node:test";
import { namedAs } from "../../../../../src/server/dataplane/hops/model/models-list.ts";

test("one model is shown under the alias that was asked for, and the rest of it stays as it is written", () => {
  const body = Buffer.from('{ "object":"model", "id":"real-2026", "created":1.0 }');
  assert.equal(String(namedAs('a"b', body)), '{ "object":"model", "id":"a\\"b", "created":1.0 }');
});

test("an answer of no model stays the same buffer", () => {
  for (const text of ['{"error":{"id":"x"}}', "[]", "no JSON"]) {
    const body = Buffer.from(text);
    assert.equal(namedAs("a", body), body);
  }
});
