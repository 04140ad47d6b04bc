import assert from "node:assert/strict";
import { test } from "node:test";
import { mergeModels, withModelId } from "../../../../../src/server/dataplane/hops/model/models-list.ts";

test("one model is shown under the requested alias, and the rest of it keeps its spelling", () => {
  const body = Buffer.from('{ "object":"model", "id":"real-2026", "created":1.0 }');
  assert.equal(String(withModelId('a"b', body)), '{ "object":"model", "id":"a\\"b", "created":1.0 }');
});

test("an answer that is not a model stays the same buffer", () => {
  for (const text of ['{"error":{"id":"x"}}', "[]", "no JSON"]) {
    const body = Buffer.from(text);
    assert.equal(withModelId("a", body), body);
  }
});

const OURS = [
  { id: "exact", provider: "one" },
  { id: "alias", provider: "two" },
];

test("our names follow the provider's list, each once, and models forbidden to the caller are omitted", () => {
  const body = Buffer.from('{"object":"list","data":[{"id":"exact","x":1.0},{"id":"hidden"}]}');
  const idsOf = (list: Buffer) => (JSON.parse(String(list)) as { data: { id: string }[] }).data.map(({ id }) => id);
  const all = mergeModels(body, "compat", { listed: OURS, allows: undefined });
  assert.deepEqual(idsOf(all), ["exact", "hidden", "alias"]);
  assert.ok(String(all).includes('{"id":"exact","x":1.0}'));
  const some = mergeModels(body, "compat", {
    listed: OURS,
    allows: (model) => model !== "hidden" && model !== "alias",
  });
  assert.deepEqual(idsOf(some), ["exact"]);
});

test("a page other than the last one has none of our names", () => {
  const body = Buffer.from('{"data":[{"id":"a"}],"has_more":true}');
  assert.equal(mergeModels(body, "messages", { listed: OURS, allows: undefined }), body);
});
