/** The check of answers against the OpenAPI document must detect invalid ones. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { assertAnswer, assertAnswerTo } from "./support/openapi-answers.ts";

const HEADERS = { "content-type": "application/json", "x-gateway-request-id": "r1", etag: '"1"' };
const WHOAMI = JSON.stringify({ issuer: "local", subject: "unix:0", roles: ["local"] });
const refusal = (code: string): string => JSON.stringify({ error: { code, message: "No." } });

test("answers that match their description pass", () => {
  assertAnswer("get_whoami", 200, HEADERS, WHOAMI);
  assertAnswer("list_keys", 200, HEADERS, '{"items":[],"index":1}');
  assertAnswer("delete_key", 204, HEADERS, "");
  assertAnswer("get_key", 404, HEADERS, refusal("not_found"));
  assertAnswer("list_keys", 503, { ...HEADERS, "retry-after": "1" }, refusal("no_leader"));
  assertAnswerTo("PUT", "/admin/v1/keys", 405, HEADERS, refusal("method_not_allowed"));
  assertAnswerTo("DELETE", "/admin/v1/suspensions/model%3Aa%2Fb", 204, HEADERS, "");
  assertAnswerTo("GET", "/readyz", 503, HEADERS, '{"ready":false,"reasons":["starting"]}');
});

for (const [title, id, status, headers, body, message] of [
  ["an operation that is not in the table", "eat_key", 200, HEADERS, "{}", /not described/],
  [
    "a field that is not described",
    "get_whoami",
    200,
    HEADERS,
    '{"issuer":"a","subject":"b","roles":[],"x":1}',
    /must NOT have additional/,
  ],
  ["a field that is missing", "get_whoami", 200, HEADERS, "{}", /required property 'issuer'/],
  ["a row of another table", "list_keys", 200, HEADERS, '{"items":[{"name":"a"}],"index":1}', /required property/],
  ["a body where there is none", "delete_key", 204, HEADERS, "{}", /has a body/],
  ["another type", "get_whoami", 200, { ...HEADERS, "content-type": "text/html" }, WHOAMI, /text\/html/],
  [
    "a list without its ETag",
    "list_keys",
    200,
    { ...HEADERS, etag: undefined },
    '{"items":[],"index":1}',
    /no header etag/,
  ],
  [
    "an ETag without quotes",
    "list_keys",
    200,
    { ...HEADERS, etag: "1" },
    '{"items":[],"index":1}',
    /must match pattern/,
  ],
  ["a code that the operation does not have", "get_key", 404, HEADERS, refusal("stale"), /allowed values/],
  ["an error with another structure", "get_key", 404, HEADERS, '{"error":"no"}', /must be object/],
] as const) {
  test(`${title}: an undescribed answer fails`, () => {
    assert.throws(() => assertAnswer(id, status, headers, body), message);
  });
}

test("a success answer at an undescribed path fails", () => {
  assert.throws(() => assertAnswerTo("GET", "/admin/v1/nowhere", 200, HEADERS, "{}"), /not described/);
});
