/** Errors within an answer stream: clients stop reading at them, so that text that is held back precedes them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Dialect } from "../../../src/server/core/dialects/index.ts";
import { guardOf } from "../dataplane/support/guards.ts";
import { DONE, delta, FINISH, open } from "./support/open-stream.ts";

const REDACTING = {
  detectors: [{ type: "pii", prefilter: "pure", apply_to: ["output"], entities: ["EMAIL_ADDRESS"] }],
  rules: [{ name: "hide", action: "redact" }],
};

const ERRORS: readonly (readonly [Dialect, string, string])[] = [
  ["compat", "without choices", 'data: {"error":{"message":"boom","type":"server_error"}}\n\n'],
  ["compat", "that is a text", 'data: {"error":"boom"}\n\n'],
  [
    "compat",
    "beside choices",
    'data: {"error":{"message":"boom"},"choices":[{"index":1,"delta":{},"finish_reason":null}]}\n\n',
  ],
  ["compat", "by the name of its event", 'event: error\ndata: {"message":"boom"}\n\n'],
  ["messages", "by its type", 'event: error\ndata: {"type":"error","error":{"message":"boom"}}\n\n'],
  ["messages", "without a type", 'data: {"error":{"message":"boom"}}\n\n'],
];
for (const [dialect, what, error] of ERRORS) {
  test(`text that is held back is shown before an error within the stream: ${dialect}, ${what}`, async () => {
    const { push, end, shown } = open(guardOf(REDACTING), dialect);
    const piece = { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "hello " } };
    await push(dialect === "compat" ? delta("hello ") : `data: ${JSON.stringify(piece)}\n\n`);
    assert.ok(!shown().includes("hello"), shown());
    await push(error);
    assert.ok(shown().includes("hello ") && shown().endsWith(error), shown());
    await end();
    assert.ok(shown().endsWith(error), shown());
  });
}

test("an empty error member does not end the texts of a stream", async () => {
  for (const empty of ["null", "{}", '""', "false"]) {
    const { push, end, shown } = open(guardOf(REDACTING));
    await push(`${delta("mail ada.love")}data: {"error":${empty}}\n\n${delta("lace@example.com")}${FINISH}${DONE}`);
    await end();
    assert.ok(!shown().includes("ada.love") && shown().includes("<EMAIL_ADDRESS>"), shown());
  }
});
