/** Serialization of values with long lists: complete, one item per line, and valid JSON. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { type Payload, valuePayload } from "../../../src/server/admin/answer-payload.ts";
import { JsonText } from "../../../src/server/admin/handler-types.ts";

const rows = Array.from({ length: 5_000 }, (_, at) => [at, `row ${at}`, null, at % 2 === 0]);

const VALUES: Readonly<Record<string, unknown>> = {
  "a result of a query": { columns: [{ name: "a", type: "integer" }], rows, index: 7 },
  "a lone list": { rows },
  "a name that must be escaped": { 'a "name"': rows, b: 1 },
  "a short list": { rows: rows.slice(0, 10), index: 7 },
  "no list": { a: 1 },
  "no object": [1, 2],
  null: null,
};

async function textOf(payload: Payload): Promise<string> {
  let text = "";
  for await (const part of payload) text += part;
  return text;
}

for (const [what, value] of Object.entries(VALUES)) {
  test(`${what} arrives unchanged`, async () => {
    assert.deepEqual(JSON.parse(await textOf(valuePayload(value))), value);
  });
}

test("a long list is written in slices, a short one in one piece", () => {
  assert.equal(typeof valuePayload({ rows }), "object");
  assert.equal(typeof valuePayload({ rows: rows.slice(0, 10) }), "string");
});

test("text is sent unchanged", async () => {
  assert.equal(valuePayload(new JsonText(['{"a":1}\n'])), '{"a":1}\n');
  assert.equal(await textOf(valuePayload(new JsonText(['{"rows":[', "\n[1]", "]}\n"]))), '{"rows":[\n[1]]}\n');
});
