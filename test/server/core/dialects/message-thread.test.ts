import assert from "node:assert/strict";
import { test } from "node:test";
import { scanObject } from "../../../../src/server/core/dialects/json/json-scan.ts";
import { type ThreadUse, threadUse } from "../../../../src/server/core/dialects/message-thread.ts";

const ROWS: readonly (readonly [string, ThreadUse])[] = [
  [`{"model":"m"}`, "none"],
  [`{"thread":null}`, "none"],
  [`{"thread":{"type":"create"}}`, "create"],
  [`{"thread": { "type" : "cre\\u0061te" } }`, "create"],
  [`{"thre\\u0061d":{"type":"create"}}`, "create"],
  [`{"thread":{"type":"continue","previous_message_id":"msg_1"}}`, "continue"],
  // Bodies that some parser may accept.
  [`{"thread":{"type":"create","type":"continue"}}`, "continue"],
  [`{"thread":{"type":"create","previous_message_id":"msg_1"}}`, "continue"],
  [`{"thread":{"type":"create","Previous_Message_ID":"msg_1"}}`, "continue"],
  [`{"thread":{"type":"\\x"}}`, "continue"],
  [`{"thread":{}}`, "continue"],
  [`{"thread":"msg_1"}`, "continue"],
  [`{"thread":[{"type":"create"}]}`, "continue"],
];

for (const [text, use] of ROWS) {
  test(`${text} is read as ${use}`, () => {
    const bytes = Buffer.from(text);
    const scan = scanObject(bytes, ["thread"], true);
    assert.ok(scan.kind === "object");
    assert.equal(threadUse(bytes, scan.members[0]), use);
  });
}
