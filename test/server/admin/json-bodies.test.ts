/** JSON of callers that another parser could read differently. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { parseJson } from "../../../src/server/admin/body-reader.ts";

const read = (json: string): unknown => parseJson(Buffer.from(json));

test("a duplicate member is refused by its name, also with escapes and at any depth", () => {
  for (const [json, name] of [
    ['{"name":"a","name":"a"}', "name"],
    ['{"name":"a","n\\u0061me":"b"}', "name"],
    ['{"name":"a","metadata":{"team":"a:\\"{","team":"b"}}', "team"],
    ['{"keep":[{"a":1,"a":2}]}', "a"],
  ] as const) {
    assert.throws(() => read(json), { message: `The body has the member \`${name}\` twice.` }, json);
  }
  const long = "k".repeat(5_000);
  assert.throws(
    () => read(`{"${long}":1,"${long}":2}`),
    ({ message }: Error) => message.length < 300,
  );
});

test("nesting is limited before any recursive code runs", () => {
  assert.throws(() => read(`{"a":${"[".repeat(400_000)}${"]".repeat(400_000)}}`), { message: /deeper than 64 levels/ });
  assert.deepEqual(read('{"a":{"a":[{"a":1},{"a":2}]}}'), { a: { a: [{ a: 1 }, { a: 2 }] } });
  assert.deepEqual(read(""), {});
});
