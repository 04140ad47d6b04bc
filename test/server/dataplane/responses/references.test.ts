import assert from "node:assert/strict";
import { test } from "node:test";
import { readJson } from "../../../../src/server/core/dialects/index.ts";
import {
  mayHaveReferences,
  referencedIds,
  replaceReferences,
} from "../../../../src/server/dataplane/responses/references.ts";
import { newSeed, parseGeneratedId, tagOf } from "../../../../src/server/dataplane/responses/response-ids.ts";

const SEED = newSeed(tagOf("n1"));
const ID = `msg_${SEED}_0`;
const OTHER = `rs_${SEED}_1`;

test("our ids name their node and their answer, and leave room for a call's id", () => {
  assert.deepEqual(parseGeneratedId(ID), { seed: SEED, tag: tagOf("n1") });
  assert.deepEqual(parseGeneratedId(`resp_${SEED}`), { seed: SEED, tag: tagOf("n1") });
  assert.ok(`call_${SEED}_999`.length <= 64);
  for (const foreign of [
    "msg_0a1b",
    `msg_${SEED}_`,
    `msg_${SEED}_0x`,
    `xx_${SEED}_0`,
    `msg_${SEED.toUpperCase()}_0`,
    "",
  ]) {
    assert.equal(parseGeneratedId(foreign), undefined, foreign);
  }
});

test("references are items of that type, or an id alone", () => {
  const input = [
    { type: "item_reference", id: ID },
    { id: OTHER },
    { type: null, id: ID },
    { type: "item_reference", id: "msg_of_the_provider" },
    { type: "message", role: "assistant", id: `msg_${SEED}_7`, content: "inline" },
    { role: "assistant", id: `msg_${SEED}_8`, content: "easy" },
    "text",
    null,
    [ID],
  ];
  assert.deepEqual(referencedIds({ input }), [ID, OTHER]);
  for (const request of [undefined, null, [], { input: ID }, {}]) assert.deepEqual(referencedIds(request), []);
  assert.equal(mayHaveReferences(Buffer.from(JSON.stringify({ input }))), true);
  assert.equal(mayHaveReferences(Buffer.from('{"input":"hello"}')), false);
});

test("items replace their references, and everything else stays as written", () => {
  const text = `{"model":"m","seed":12345678901234567890,"input":[{"id":"${ID}","type":"item_reference"},{"role":"user","content":"é","n":1.0},{"type":"item_reference","id":"${OTHER}"}],"__proto__":{"a":1}}`;
  const item = `{"id":"${ID}","type":"message","role":"assistant","content":[{"type":"output_text","text":"hi"}]}`;
  const body = replaceReferences(readJson(text), new Map([[ID, item]])).toString();
  assert.deepEqual(JSON.parse(body).input, [
    JSON.parse(item),
    { role: "user", content: "é", n: 1 },
    { type: "item_reference", id: OTHER },
  ]);
  assert.match(body, /"n":1\.0/);
  assert.match(body, /"__proto__":\{"a":1\}/);
});
