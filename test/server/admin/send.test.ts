/** Values with long lists on their way out: whole, an item a line, and as JSON has them. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { sendValue } from "../../../src/server/admin/send.ts";

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

test("a value arrives as it was, whatever the length of its list", async (t) => {
  let value: unknown;
  const server = createServer((_, response) => {
    void sendValue(response, 200, value, { etag: '"7"' }, new AbortController().signal);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  for (const [what, each] of Object.entries(VALUES)) {
    value = each;
    const answer = await fetch(`http://127.0.0.1:${port}/`, { signal: AbortSignal.timeout(10_000) });
    assert.equal(answer.headers.get("content-type"), "application/json", what);
    assert.equal(answer.headers.get("etag"), '"7"', what);
    assert.deepEqual(await answer.json(), each, what);
  }
});
