/** Virtual keys over the local socket: minted, shown once, changed, rotated, suspended, expired, deleted. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { AdminError } from "../../../src/admin-api/index.ts";
import { digestOf, parseKey } from "../../../src/server/auth/index.ts";
import { NOW, openAdmin } from "./support/open-admin.ts";

test("a key is minted with its fields, and its text is shown in that answer alone", async (t) => {
  const { client, send, memory, governed, log } = await openAdmin(t);
  governed.configure({ profiles: ["batch"] });
  const { key, ...record } = await client.call("create_key", {
    body: { name: "ci", profile: "batch", metadata: { team: "search" }, expires_in: "1h30m" },
  });
  assert.ok(key);
  const parsed = parseKey(key);
  assert.ok(parsed);
  assert.deepEqual(record, {
    id: parsed.id,
    name: "ci",
    profile: "batch",
    metadata: { team: "search" },
    created_at: new Date(NOW).toISOString(),
    expires_at: new Date(NOW + 5_400_000).toISOString(),
    last_used_at: null,
    status: "active",
  });
  assert.deepEqual(await client.call("get_key", { params: { name: "ci" } }), record);
  assert.deepEqual((await client.call("list_keys")).items, [record]);

  const state = [...memory.cluster.view.scan("")].flat().join("\n");
  assert.ok(state.includes(digestOf(parsed.secret)), "the hash is stored");
  const list = await send("GET", "/admin/v1/keys");
  for (const text of [state, list.text, log()]) {
    assert.ok(!text.includes(parsed.secret));
    assert.ok(!text.includes(key));
  }
  assert.ok(!list.text.includes(digestOf(parsed.secret)));
});

test("a key needs only a name, and then has no profile and no expiry", async (t) => {
  const { client } = await openAdmin(t);
  const { profile, metadata, expires_at } = await client.call("create_key", { body: { name: "plain" } });
  assert.deepEqual({ profile, metadata, expires_at }, { profile: null, metadata: {}, expires_at: null });
});

test("a minted key is answered with 201", async (t) => {
  const { send } = await openAdmin(t);
  assert.equal((await send("POST", "/admin/v1/keys", { body: '{"name":"a"}' })).status, 201);
});

test("a second key with the same name is refused as a conflict", async (t) => {
  const { client } = await openAdmin(t);
  await client.call("create_key", { body: { name: "ci" } });
  await assert.rejects(client.call("create_key", { body: { name: "ci" } }), (error) => {
    assert.ok(error instanceof AdminError);
    assert.deepEqual([error.status, error.code, error.details], [409, "conflict", { reason: "exists" }]);
    return true;
  });
});

test("a change keeps the fields it does not name, and null clears a field", async (t) => {
  const { client, governed } = await openAdmin(t);
  governed.configure({ profiles: ["a"] });
  await client.call("create_key", { body: { name: "ci", profile: "a", metadata: { x: "1" }, expires_in: "1h" } });
  const params = { name: "ci" };
  const changed = await client.call("update_key", { params, body: { metadata: { y: "2" } } });
  assert.deepEqual([changed.profile, changed.metadata], ["a", { y: "2" }]);
  assert.equal(changed.expires_at, new Date(NOW + 3_600_000).toISOString());
  const freed = await client.call("update_key", { params, body: { profile: null, expires_in: null } });
  assert.deepEqual([freed.profile, freed.metadata, freed.expires_at], [null, { y: "2" }, null]);
  assert.deepEqual(await client.call("get_key", { params }), freed);
});

test("a rotated key gets a new id and text under its name and keeps its fields", async (t) => {
  const { client, governed } = await openAdmin(t);
  governed.configure({ profiles: ["a"] });
  const first = await client.call("create_key", { body: { name: "ci", profile: "a" } });
  const second = await client.call("rotate_key", { params: { name: "ci" } });
  assert.ok(first.key && second.key);
  assert.notEqual(second.key, first.key);
  assert.equal(parseKey(second.key)?.id, second.id);
  assert.deepEqual([second.name, second.profile, second.created_at], ["ci", "a", first.created_at]);
});

test("an unknown profile is refused by its field, with the nearest name and the known ones", async (t) => {
  const { client, send, governed, memory } = await openAdmin(t);
  governed.configure({ profiles: ["batch", "chat"] });
  await client.call("create_key", { body: { name: "ci", profile: "chat" } });
  const { writes } = memory;
  for (const [method, path, body] of [
    ["POST", "/admin/v1/keys", '{"name":"new","profile":"bacth"}'],
    ["PATCH", "/admin/v1/keys/ci", '{"profile":"bacth"}'],
  ] as const) {
    const answer = await send(method, path, { body });
    const message = "names no profile of the configuration; did you mean `batch`? (it has `batch`, `chat`)";
    assert.deepEqual(
      [answer.status, answer.json().error],
      [
        400,
        {
          code: "invalid",
          message: `The field \`profile\` ${message}.`,
          details: { in: "body", faults: [{ field: "profile", message }] },
        },
      ],
    );
  }
  assert.equal(memory.writes, writes, "nothing is written");
  assert.equal((await client.call("get_key", { params: { name: "ci" } })).profile, "chat");
});

test("a key whose profile was removed can still be changed, rotated and listed under it", async (t) => {
  const { client, governed } = await openAdmin(t);
  governed.configure({ profiles: ["chat"] });
  await client.call("create_key", { body: { name: "ci", profile: "chat" } });
  governed.configure({ profiles: [] });
  const params = { name: "ci" };
  assert.equal((await client.call("update_key", { params, body: { metadata: { a: "b" } } })).profile, "chat");
  assert.equal((await client.call("rotate_key", { params })).profile, "chat");
  assert.equal((await client.call("update_key", { params, body: { profile: null } })).profile, null);
});

test("a deleted key is gone", async (t) => {
  const { client, send } = await openAdmin(t);
  await client.call("create_key", { body: { name: "ci" } });
  const answer = await send("DELETE", "/admin/v1/keys/ci");
  assert.deepEqual([answer.status, answer.text], [204, ""]);
  assert.deepEqual((await client.call("list_keys")).items, []);
});

for (const [method, path, body] of [
  ["GET", "/admin/v1/keys/none", undefined],
  ["PATCH", "/admin/v1/keys/none", "{}"],
  ["DELETE", "/admin/v1/keys/none", undefined],
  ["POST", "/admin/v1/keys/none/rotate", undefined],
] as const) {
  test(`${method} ${path} of an unknown key answers 404`, async (t) => {
    const { send } = await openAdmin(t);
    const answer = await send(method, path, body === undefined ? {} : { body });
    assert.deepEqual([answer.status, answer.json().error.code], [404, "not_found"]);
  });
}

test("the status follows from a suspension and from the clock", async (t) => {
  const { client, setNow } = await openAdmin(t);
  const params = { name: "ci" };
  const status = async () => (await client.call("get_key", { params })).status;
  await client.call("create_key", { body: { name: "ci", expires_in: "1h" } });
  await client.call("put_suspension", {
    params: { kind: "key", name: "ci" },
    body: { reason: "leaked", duration: "10m" },
  });
  assert.equal(await status(), "suspended");
  setNow(NOW + 600_000);
  assert.equal(await status(), "active");
  setNow(NOW + 3_600_000);
  assert.equal(await status(), "expired");
});

test("a repeated request mints one key, and does not show a text that no longer works", async (t) => {
  const { client } = await openAdmin(t);
  const input = { body: { name: "ci" }, idempotencyKey: "first" };
  const { key, ...record } = await client.call("create_key", input);
  assert.ok(key);
  assert.deepEqual(await client.call("create_key", input), record);
  const rotation = { params: { name: "ci" }, idempotencyKey: "second" };
  const rotated = await client.call("rotate_key", rotation);
  const { key: shown, ...rest } = await client.call("rotate_key", rotation);
  assert.equal(shown, undefined);
  assert.equal(rest.id, rotated.id);
});

test("another request under an idempotency key is a conflict", async (t) => {
  const { client } = await openAdmin(t);
  await client.call("create_key", { body: { name: "a" }, idempotencyKey: "k" });
  await assert.rejects(client.call("create_key", { body: { name: "b" }, idempotencyKey: "k" }), {
    status: 409,
    code: "conflict",
  });
});

test("keys are listed in pages, each starting at a name, even if no key has that name", async (t) => {
  const { client, send } = await openAdmin(t);
  const names = ["a", "b", "b.1", "b1", "ba", "c"];
  for (const name of [...names].reverse()) await client.call("create_key", { body: { name } });
  const page = async (query: { readonly limit?: number; readonly after?: string }): Promise<readonly string[]> =>
    (await client.call("list_keys", { query })).items.map(({ name }) => name);
  const rows: readonly (readonly [query: Parameters<typeof page>[0], names: readonly string[]])[] = [
    [{}, names],
    [{ limit: 2 }, ["a", "b"]],
    [{ limit: 2, after: "b" }, ["b.1", "b1"]],
    [{ limit: 2, after: "b0" }, ["b1", "ba"]],
    [{ limit: 2, after: "ba" }, ["c"]],
    [{ limit: 2, after: "c" }, []],
    [{ limit: 2, after: "zz" }, []],
    [{ limit: 2, after: "A" }, ["a", "b"]],
    [{ limit: 10_000 }, names],
  ];
  for (const [query, expected] of rows) assert.deepEqual(await page(query), expected, JSON.stringify(query));
  const paged: string[] = [];
  for (let after: string | undefined; ; ) {
    const next = await page({ limit: 4, ...(after !== undefined && { after }) });
    if (next.length === 0) break;
    paged.push(...next);
    after = next.at(-1);
  }
  assert.deepEqual(paged, names);
  for (const query of [
    ...[
      "after=a",
      "limit=0",
      "limit=10001",
      "limit=x",
      "limit=1&after=",
      "limit=1&after=%C3%A9",
      "limit=1&after=..%2Fa",
    ],
    `limit=1&after=${"n".repeat(129)}`,
  ]) {
    const { status, text } = await send("GET", `/admin/v1/keys?${query}`);
    assert.equal(status, 400, query);
    assert.ok(text.includes('"invalid"'), query);
  }
});
