import assert from "node:assert/strict";
import { test } from "node:test";
import {
  containsUnsigned,
  mayContainUnsigned,
  withoutUnsigned,
} from "../../../../../src/server/core/dialects/translate/unsigned-thinking.ts";

const unsigned = '{"type":"thinking","thinking":"Hm.","signature":""}';
const signed = '{"type":"thinking","thinking":"Hm.","signature":"c2ln"}';
const request = (...turns: readonly string[]): Buffer =>
  Buffer.from(`{ "model":"m", "messages":[${turns.join(",")}],"max_tokens":1.0 }`);
const without = (...turns: readonly string[]): string => withoutUnsigned(request(...turns)).toString();

test("unsigned thinking is removed from a turn, and the rest keeps its spelling", () => {
  const use = '{"type":"tool_use","id":"t","name":"f","input":{"10":1.0,"9":12345678901234567890}}';
  assert.equal(
    without('{"role":"user","content":"Hi"}', `{"role":"assistant","content":[${unsigned},${use}]}`),
    request('{"role":"user","content":"Hi"}', `{"role":"assistant","content":[${use}]}`).toString(),
  );
});

test("a turn with nothing else is removed", () => {
  assert.equal(
    without('{"role":"user","content":"Hi"}', `{"role":"assistant","content":[${unsigned}]}`),
    request('{"role":"user","content":"Hi"}').toString(),
  );
});

test("a body without unsigned thinking stays the same buffer", () => {
  for (const body of [
    request(`{"role":"assistant","content":[${signed}]}`),
    request(`{"role":"user","content":[{"type":"text","text":"\\"signature\\":\\"\\""}]}`),
    request('{"role":"assistant","content":"Hi"}', "7", "null"),
    Buffer.from('{"messages":7}'),
    Buffer.from("{}"),
  ]) {
    assert.equal(withoutUnsigned(body), body);
    assert.equal(containsUnsigned(JSON.parse(body.toString())), false);
  }
});

test("only a body that contains the keywords is parsed", () => {
  assert.equal(mayContainUnsigned(request(`{"role":"assistant","content":[${signed}]}`)), false);
  assert.equal(mayContainUnsigned(request(`{"role":"assistant","content":[${unsigned}]}`)), true);
  assert.equal(mayContainUnsigned(Buffer.from('{"signature": ""}')), true);
});

test("unsigned thinking is found in assistant turns", () => {
  assert.ok(containsUnsigned(JSON.parse(request(`{"role":"assistant","content":[${unsigned}]}`).toString())));
  assert.equal(containsUnsigned(JSON.parse(request(`{"role":"user","content":[${unsigned}]}`).toString())), false);
});
