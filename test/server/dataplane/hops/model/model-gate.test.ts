import assert from "node:assert/strict";
import { test } from "node:test";
import { modelGate } from "../../../../../src/server/dataplane/hops/model/model-gate.ts";

const gate = modelGate((model) => model === "allowed");
const passes = (text: string, isBinary = false): boolean => gate(Buffer.from(text), isBinary);

test("an event may name only allowed models, in every place that selects one", () => {
  for (const wrap of [
    (model: string) => ({ model }),
    (model: string) => ({ response: { model } }),
    (model: string) => ({ session: { model } }),
    (model: string) => ({ session: { input_audio_transcription: { model } } }),
    (model: string) => ({ session: { audio: { input: { transcription: { model } } } } }),
  ]) {
    assert.ok(passes(JSON.stringify(wrap("allowed"))));
    assert.ok(!passes(JSON.stringify(wrap("other"))), JSON.stringify(wrap("other")));
    assert.ok(!passes(JSON.stringify(wrap("other")).replace("model", "mod\\u0065l")));
    assert.ok(!passes(JSON.stringify(wrap("other")), true), "JSON in a binary message");
  }
  assert.ok(passes('{"session":{"tools":[{"parameters":{"properties":{"model":{"type":"string"}}}}]}}'));
});

test("an event that two parsers read differently is refused, and audio always passes", () => {
  for (const text of [
    '{"model":"allowed","model":"other"}',
    '{"model":"allowed","Model":"other"}',
    '{"model":"allowed"',
  ]) {
    assert.ok(!passes(text), text);
  }
  assert.ok(gate(Buffer.from([0x7b, 0xff, 0x5c, 0x75, 0x00, 0x80]), true));
});
