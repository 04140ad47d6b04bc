/** Requests that need not be parsed; the tables of uses show that the keywords are present if a capability is used. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { evidenceOf, showsEvidence } from "../../../../../src/server/core/dialects/fidelity/evidence.ts";

const evidence = evidenceOf("compat", ["top_k", "thinking_replay"]) ?? [];
const shows = (text: string): boolean => showsEvidence(Buffer.from(text), evidence);

test("a request without the keywords need not be parsed", () => {
  assert.equal(evidence.length, 3);
  assert.equal(shows('{"messages":[{"role":"user","content":"K top? caf\\u00e9 \\u0007"}]}'), false);
});

test("a keyword is found anywhere, also behind an escape", () => {
  assert.equal(shows('{"top_k":5}'), true);
  assert.equal(shows('{"messages":[{"reasoning_details":[]}]}'), true);
  assert.equal(shows('{"top\\u005fk":5}'), true);
});

test("capabilities without a keyword, and more keywords than a search is worth, need parsing", () => {
  assert.equal(evidenceOf("compat", ["top_k", "sampling"]), undefined);
  assert.equal(
    evidenceOf("compat", [
      "logit_bias",
      "logprobs",
      "prediction",
      "verbosity",
      "thinking_budget",
      "thinking_replay",
      "top_k",
    ]),
    undefined,
  );
  assert.deepEqual(evidenceOf("messages", []), []);
});
