/** Invalid requests: every refusal has its code, in one format. */

import assert from "node:assert/strict";
import { connect } from "node:net";
import { test } from "node:test";
import { OPERATIONS } from "../../../src/admin-api/index.ts";
import { MAX_DOCUMENT_BYTES, MAX_JSON_BYTES } from "../../../src/server/admin/body-reader.ts";
import { ClusterError } from "../../../src/server/cluster/index.ts";
import { openAdmin, type RawOptions } from "./support/open-admin.ts";

const json = { "content-type": "application/json" };

interface Case {
  readonly title: string;
  readonly method: string;
  readonly path: string;
  readonly options?: RawOptions;
  readonly status: number;
  readonly code: string;
  readonly message: RegExp;
}

const CASES: readonly Case[] = [
  ["an unknown path", "GET", "/admin/v1/nothing", {}, 404, "not_found", /no such path/],
  ["the bare prefix", "GET", "/admin/v1", {}, 404, "not_found", /no such path/],
  ["a path outside the API", "GET", "/", {}, 404, "not_found", /no such path/],
  ["an empty name", "GET", "/admin/v1/keys/", {}, 404, "not_found", /no such path/],
  [
    "a method that the path does not allow",
    "PUT",
    "/admin/v1/keys",
    { body: "{}" },
    405,
    "method_not_allowed",
    /GET and POST/,
  ],
  ["a name with invalid encoding", "GET", "/admin/v1/keys/%zz", {}, 400, "invalid", /path is not well-formed/],
  ["a forbidden name", "GET", "/admin/v1/keys/a%2Fb", {}, 400, "invalid", /path parameter `name` must match/],
  [
    "an invalid kind",
    "PUT",
    "/admin/v1/suspensions/planet:mars",
    { body: '{"reason":"x"}' },
    400,
    "invalid",
    /`kind` must be one of "provider"/,
  ],
  [
    "a misspelled field",
    "POST",
    "/admin/v1/keys",
    { body: '{"name":"a","profil":"b"}' },
    400,
    "invalid",
    /field `profil` is not known; did you mean `profile`\?/,
  ],
  [
    "a field that resembles no known one",
    "POST",
    "/admin/v1/keys",
    { body: '{"name":"a","zzzzzz":1}' },
    400,
    "invalid",
    /field `zzzzzz` is not known\./,
  ],
  ["a field that is missing", "POST", "/admin/v1/keys", { body: "{}" }, 400, "invalid", /field `name` is missing/],
  ["no body where one is needed", "POST", "/admin/v1/keys", {}, 400, "invalid", /field `name` is missing/],
  [
    "a value of another type",
    "POST",
    "/admin/v1/keys",
    { body: '{"name":1}' },
    400,
    "invalid",
    /field `name` must be string/,
  ],
  [
    "a nested value of another type",
    "POST",
    "/admin/v1/keys",
    { body: '{"name":"a","metadata":{"x":{}}}' },
    400,
    "invalid",
    /field `metadata.x` must be string/,
  ],
  [
    "a prototype as a field",
    "POST",
    "/admin/v1/keys",
    { body: '{"name":"a","__proto__":{}}' },
    400,
    "invalid",
    /`__proto__` is not known/,
  ],
  [
    "a prototype as metadata",
    "POST",
    "/admin/v1/keys",
    { body: '{"name":"a","metadata":{"__proto__":"x"}}' },
    400,
    "invalid",
    /`metadata.__proto__` has a name that is not allowed/,
  ],
  [
    "an invalid duration",
    "POST",
    "/admin/v1/keys",
    { body: '{"name":"a","expires_in":"soon"}' },
    400,
    "invalid",
    /`expires_in` must be a positive duration/,
  ],
  [
    "a lifetime of zero",
    "POST",
    "/admin/v1/keys",
    { body: '{"name":"a","expires_in":"0s"}' },
    400,
    "invalid",
    /`expires_in` must be a positive duration/,
  ],
  ["a body that is a list", "POST", "/admin/v1/keys", { body: "[]" }, 400, "invalid", /^The body must be object/],
  ["a body that is not JSON", "POST", "/admin/v1/keys", { body: "{" }, 400, "invalid", /^The body is not JSON/],
  [
    "a body that is not UTF-8",
    "POST",
    "/admin/v1/keys",
    { body: Buffer.from([0x22, 0xff, 0x22]) },
    400,
    "invalid",
    /not UTF-8/,
  ],
  [
    "JSON with another content type",
    "POST",
    "/admin/v1/keys",
    { headers: { "content-type": "text/plain" }, body: '{"name":"a"}' },
    400,
    "invalid",
    /application\/json/,
  ],
  ["an unexpected body", "POST", "/admin/v1/reload", { body: '{"x":1}' }, 400, "invalid", /takes no body/],
  ["a body on a read", "GET", "/admin/v1/keys", { body: '{"x":1}' }, 400, "invalid", /takes no body/],
  [
    "a misspelled query parameter",
    "GET",
    "/admin/v1/keys?waite=1s",
    {},
    400,
    "invalid",
    /query parameter `waite` is not known; did you mean `wait`\?/,
  ],
  [
    "a duplicate query parameter",
    "GET",
    "/admin/v1/keys?index=1&index=2",
    {},
    400,
    "invalid",
    /`index` is given more than once/,
  ],
  ["an index that is not a number", "GET", "/admin/v1/keys?index=x", {}, 400, "invalid", /`index` must be integer/],
  ["a wait without an index", "GET", "/admin/v1/keys?wait=1s", {}, 400, "invalid", /`wait` needs `index`/],
  [
    "a wait that is too long",
    "GET",
    "/admin/v1/keys?index=1&wait=5m1s",
    {},
    400,
    "invalid",
    /`wait` must be at most 5m/,
  ],
  ["an invalid flag", "GET", "/admin/v1/keys?consistent=yes", {}, 400, "invalid", /`consistent` must be boolean/],
  [
    "an idempotency key with a slash",
    "POST",
    "/admin/v1/keys",
    { headers: { ...json, "idempotency-key": "a/b" }, body: '{"name":"a"}' },
    400,
    "invalid",
    /Idempotency-Key/,
  ],
  [
    "an idempotency key on a read",
    "GET",
    "/admin/v1/keys/a",
    { headers: { "idempotency-key": "a" } },
    400,
    "invalid",
    /Idempotency-Key/,
  ],
  [
    "If-Match where there are no revisions",
    "DELETE",
    "/admin/v1/keys/a",
    { headers: { "if-match": '"1"' } },
    400,
    "invalid",
    /takes no If-Match/,
  ],
  [
    "If-Match that is not a revision",
    "PUT",
    "/admin/v1/sources/a",
    { headers: { "if-match": "*" }, body: "{}" },
    400,
    "invalid",
    /If-Match must be one revision/,
  ],
  [
    "a JSON body above its limit",
    "POST",
    "/admin/v1/keys",
    { body: Buffer.alloc(MAX_JSON_BYTES + 1, 0x20) },
    413,
    "body_too_large",
    /larger than 1048576 bytes/,
  ],
  [
    "a document above its limit",
    "PUT",
    "/admin/v1/sources/a",
    { body: Buffer.alloc(MAX_DOCUMENT_BYTES + 1, 0x20) },
    413,
    "body_too_large",
    /larger than 8388608 bytes/,
  ],
].map(
  ([title, method, path, options, status, code, message]) =>
    ({ title, method, path, options, status, code, message }) as Case,
);

for (const { title, method, path, options, status, code, message } of CASES) {
  test(`${title} is refused with ${status} ${code}`, async (t) => {
    const { send, memory } = await openAdmin(t);
    const answer = await send(method, path, options);
    assert.equal(answer.headers["content-type"], "application/json");
    assert.equal(answer.headers["cache-control"], "no-store");
    const { error } = answer.json();
    assert.deepEqual([answer.status, error.code], [status, code]);
    assert.match(error.message, message);
    assert.equal(memory.writes, 0);
  });
}

test("a wrong method is answered with the allowed methods", async (t) => {
  const { send } = await openAdmin(t);
  assert.equal((await send("PATCH", "/admin/v1/sources/a")).headers["allow"], "GET, PUT, DELETE");
  assert.equal((await send("GET", "/admin/v1/secrets/rewrap")).headers["allow"], "POST");
});

test("every error in a body is in the details, with its field", async (t) => {
  const { send } = await openAdmin(t);
  const answer = await send("POST", "/admin/v1/keys", { body: '{"profil":1,"metadata":[],"expires_in":"x"}' });
  const { details, message } = answer.json().error;
  assert.match(message, /\(and 3 more\)/);
  const { faults } = details as { faults: { field: string }[] };
  assert.deepEqual(faults.map(({ field }) => field).sort(), ["expires_in", "metadata", "name", "profil"]);
});

test("a body of a hundred thousand unknown fields is answered with the first few", async (t) => {
  const { send } = await openAdmin(t);
  const body = JSON.stringify(Object.fromEntries(Array.from({ length: 60_000 }, (_, at) => [`f${at}`, 0])));
  const answer = await send("POST", "/admin/v1/keys", { body });
  assert.equal(answer.status, 400);
  assert.ok(answer.text.length < 4_000, `${answer.text.length} characters`);
});

test("a body that exceeds its limit without a declared length is refused and the connection closed", async (t) => {
  const { path } = await openAdmin(t);
  const socket = connect(path);
  socket.on("error", () => {});
  socket.write(
    "POST /admin/v1/keys HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n",
  );
  const chunk = Buffer.alloc(1 << 18, 0x20);
  for (let count = 0; count < 6; count++)
    socket.write(Buffer.concat([Buffer.from("40000\r\n"), chunk, Buffer.from("\r\n")]));
  let text = "";
  for await (const part of socket) text += part;
  assert.match(text, /^HTTP\/1\.1 413 /);
  assert.match(text, /connection: close/i);
});

test("two requests on one connection are both answered, whatever the outcome of the first", async (t) => {
  const { path } = await openAdmin(t);
  const socket = connect(path);
  socket.write(
    "GET /admin/v1/nothing HTTP/1.1\r\nhost: x\r\n\r\nGET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n",
  );
  let text = "";
  for await (const part of socket) text += part;
  assert.deepEqual(
    [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status),
    ["404", "200"],
  );
});

const FAILURES = [
  ["no_leader", 503, "1"],
  ["busy", 503, "1"],
  ["disk_low", 507, undefined],
  ["entry_too_large", 413, undefined],
  ["conflict", 409, undefined],
  ["forbidden", 403, undefined],
] as const;

for (const [code, status, retryAfter] of FAILURES) {
  test(`a write that fails with ${code} is answered with ${status}`, async (t) => {
    const { send, memory } = await openAdmin(t);
    memory.failNext(code, "As the cluster says.", { outcome: "unknown" });
    const answer = await send("POST", "/admin/v1/keys", { body: '{"name":"a"}' });
    assert.equal(answer.status, status);
    assert.equal(answer.headers["retry-after"], retryAfter);
    assert.deepEqual(answer.json(), {
      error: { code, message: "As the cluster says.", details: { outcome: "unknown" } },
    });
  });
}

test("a failure with the cluster's own error keeps its code and details", async (t) => {
  const { memory } = await openAdmin(t);
  const failure = new ClusterError("no_leader", "Nobody leads.", { details: { outcome: "unknown" } });
  const failing = { ...memory.cluster, write: () => Promise.reject(failure) };
  const { send } = await openAdmin(t, { cluster: failing });
  const answer = await send("POST", "/admin/v1/keys", { body: '{"name":"a"}' });
  assert.equal(answer.status, 503);
  assert.deepEqual(answer.json().error, {
    code: "no_leader",
    message: "Nobody leads.",
    details: { outcome: "unknown" },
  });
});

test("an internal error is answered without its text, which is in the log", async (t) => {
  const { memory } = await openAdmin(t);
  const failing = { ...memory.cluster, write: () => Promise.reject(new Error("row 7 is broken")) };
  const { send, log } = await openAdmin(t, { cluster: failing });
  const answer = await send("POST", "/admin/v1/keys", { body: '{"name":"a"}' });
  assert.deepEqual([answer.status, answer.json().error.code], [500, "internal"]);
  assert.ok(!answer.text.includes("row 7"));
  assert.match(log(), /row 7 is broken/);
});

const CANARY = "canary-5a1f-value";

test("a secret sent in any wrong way appears in no answer and in no log", async (t) => {
  const { send, log, memory } = await openAdmin(t);
  const bodies = [
    `{"value":["${CANARY}"]}`,
    `{"valu":"${CANARY}"}`,
    `{"value":"${CANARY}","version":1}`,
    `{"value":"${CANARY}"`,
    `"${CANARY}"`,
    `{"value":"${CANARY}${"x".repeat(70_000)}"}`,
  ];
  for (const body of bodies) {
    const answer = await send("PUT", "/admin/v1/secrets/a", { body });
    assert.equal(answer.status, 400, body.slice(0, 40));
    assert.ok(!answer.text.includes(CANARY), answer.text);
  }
  assert.equal((await send("PUT", "/admin/v1/secrets/a", { body: `{"value":"${CANARY}"}` })).status, 200);
  for (const path of ["secrets", "keys", "suspensions", "sources", "cluster_members", "status", "config", "whoami"]) {
    assert.ok(!(await send("GET", `/admin/v1/${path}`)).text.includes(CANARY), path);
  }
  assert.ok(!log().includes(CANARY));
  assert.ok(![...memory.cluster.view.scan("")].flat().join().includes(CANARY));
});

test("the Host header has no influence", async (t) => {
  const { send } = await openAdmin(t);
  assert.equal((await send("GET", "/admin/v1/whoami", { headers: { host: "elsewhere.example" } })).status, 200);
});

test("every operation of the table is reached by its method and path", async (t) => {
  const { send } = await openAdmin(t);
  for (const [id, operation] of Object.entries(OPERATIONS)) {
    const path = operation.path
      .replace("{kind}", "key")
      .replace(/\{revision\}/, "1")
      .replace(/\{\w+\}/g, "n1");
    const body = operation.body.kind === "none" ? {} : { body: '{"unknown_field":1}' };
    const answer = await send(operation.method, `/admin/v1${path}`, body);
    const code = answer.text.startsWith("{") && answer.status >= 400 ? answer.json().error : undefined;
    assert.ok(code?.code !== "method_not_allowed" && !code?.message.includes("no such path"), `${id}: ${answer.text}`);
    if (operation.body.kind === "json") assert.match(code?.message ?? "", /unknown_field/, id);
  }
});
