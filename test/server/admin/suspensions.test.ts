/** Suspensions over the local socket: put, replaced, lifted, ended by time. */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { SUSPENSION_KINDS } from "../../../src/admin-api/index.ts";
import { NOW, openAdmin } from "./support/open-admin.ts";

test("a suspension is stored with caller, reason and end, and reads back as answered", async (t) => {
  const { client, backends } = await openAdmin(t);
  backends.configure("acme-chat");
  const params = { kind: "provider", name: "acme-chat" } as const;
  const put = await client.call("put_suspension", { params, body: { reason: "key rotation", duration: "30m" } });
  assert.deepEqual(put, {
    ...params,
    reason: "key rotation",
    by: "unix:1000",
    created_at: new Date(NOW).toISOString(),
    until: new Date(NOW + 1_800_000).toISOString(),
    status: "active",
  });
  assert.deepEqual((await client.call("list_suspensions")).items, [put]);
});

for (const body of [{ reason: "x" }, { reason: "x", duration: "" }]) {
  test(`a suspension of ${JSON.stringify(body)} lasts until it is lifted`, async (t) => {
    const { client, setNow } = await openAdmin(t);
    const params = { kind: "model", name: "files" } as const;
    assert.equal((await client.call("put_suspension", { params, body })).until, null);
    setNow(NOW + 10 * 365 * 86_400_000);
    assert.equal((await client.call("list_suspensions")).items[0]?.status, "active");
    await client.call("delete_suspension", { params });
    assert.deepEqual((await client.call("list_suspensions")).items, []);
  });
}

test("putting a suspension again replaces it", async (t) => {
  const { client } = await openAdmin(t);
  const params = { kind: "model", name: "m" } as const;
  await client.call("put_suspension", { params, body: { reason: "a", duration: "1h" } });
  await client.call("put_suspension", { params, body: { reason: "b" } });
  assert.deepEqual(
    (await client.call("list_suspensions")).items.map(({ reason, until }) => [reason, until]),
    [["b", null]],
  );
});

test("an ended suspension is shown as ended while it is still listed", async (t) => {
  const { client, setNow } = await openAdmin(t);
  await client.call("put_suspension", { params: { kind: "model", name: "m" }, body: { reason: "a", duration: "1h" } });
  setNow(NOW + 3_600_000);
  assert.equal((await client.call("list_suspensions")).items[0]?.status, "ended");
});

test("a name may have any characters, including colons and slashes", async (t) => {
  const { client, send } = await openAdmin(t);
  const names = ["vendor/model:free", "https://issuer.example/realm", "a:b:c", "x%2Fy"];
  for (const name of names)
    await client.call("put_suspension", { params: { kind: "model", name }, body: { reason: "x" } });
  assert.deepEqual((await client.call("list_suspensions")).items.map(({ name }) => name).sort(), [...names].sort());
  for (const name of names) await client.call("delete_suspension", { params: { kind: "model", name } });
  const answer = await send("PUT", "/admin/v1/suspensions/model%3Aa", { body: '{"reason":"x"}' });
  assert.deepEqual([answer.status, answer.json<{ name: string }>().name], [200, "a"]);
});

/** Opens a gateway with one object of each kind that can be configured. */
async function openWithAll(t: TestContext) {
  const opened = await openAdmin(t);
  opened.backends.configure("openai", "anthropic");
  opened.governed.configure({ profiles: ["batch", "chat"], issuers: ["corp"] });
  for (const name of ["ci", "nightly-build"]) await opened.client.call("create_key", { body: { name } });
  return opened;
}

for (const [kind, name] of [
  ["provider", "openai"],
  ["profile", "chat"],
  ["issuer", "corp"],
  ["key", "ci"],
  ["model", "whatever-a-default-provider-serves"],
] as const) {
  test(`an existing ${kind} can be suspended`, async (t) => {
    const { client } = await openWithAll(t);
    await client.call("put_suspension", { params: { kind, name }, body: { reason: "x" } });
    assert.deepEqual(
      (await client.call("list_suspensions")).items.map((row) => [row.kind, row.name]),
      [[kind, name]],
    );
  });
}

for (const [kind, name, message] of [
  [
    "provider",
    "opnai",
    "There is no provider named opnai in the configuration; did you mean `openai`? (it has `openai`, `anthropic`).",
  ],
  ["provider", "zzz", "There is no provider named zzz in the configuration (it has `openai`, `anthropic`)."],
  [
    "profile",
    "bacth",
    "There is no profile named bacth in the configuration; did you mean `batch`? (it has `batch`, `chat`).",
  ],
  ["issuer", "crop", "There is no issuer named crop in the configuration; did you mean `corp`? (it has `corp`)."],
  ["key", "nightly-biuld", "There is no key named nightly-biuld; did you mean `nightly-build`?"],
  ["key", "inghtly-build", "There is no key named inghtly-build; did you mean `nightly-build`?"],
  ["key", "zzz", "There is no key named zzz."],
  ["mcp", "files", "There is no MCP server named files in the configuration (it has `openai`, `anthropic`)."],
  ["a2a", "helper", "There is no A2A agent named helper in the configuration (it has `openai`, `anthropic`)."],
] as const) {
  test(`suspending the unknown ${kind} ${name} answers 404 with the closest name`, async (t) => {
    const { client, send, memory } = await openWithAll(t);
    const { writes } = memory;
    const answer = await send("PUT", `/admin/v1/suspensions/${kind}:${name}`, { body: '{"reason":"x"}' });
    assert.deepEqual([answer.status, answer.json().error], [404, { code: "not_found", message }]);
    assert.equal(memory.writes, writes, "nothing is written");
    assert.deepEqual((await client.call("list_suspensions")).items, []);
  });
}

test("the kinds tested here are all kinds of suspension", () => {
  const tried = new Set(["provider", "profile", "issuer", "key", "model", "mcp", "a2a"]);
  assert.deepEqual(new Set<string>(SUSPENSION_KINDS), tried);
});

test("a message names twenty of twenty-one providers", async (t) => {
  const { send, backends } = await openAdmin(t);
  backends.configure(...Array.from({ length: 21 }, (_, at) => `provider-of-number-${at}`));
  const answer = await send("PUT", "/admin/v1/suspensions/provider:x", { body: '{"reason":"x"}' });
  assert.match(answer.json().error.message, /`provider-of-number-19` and 1 more\)\.$/);
});

test("the suspension of a target that left the configuration can be lifted", async (t) => {
  const { client, backends } = await openWithAll(t);
  const params = { kind: "provider", name: "openai" } as const;
  await client.call("put_suspension", { params, body: { reason: "x" } });
  backends.configure("anthropic");
  await client.call("delete_suspension", { params });
  assert.deepEqual((await client.call("list_suspensions")).items, []);
});

test("lifting a suspension that does not exist is refused", async (t) => {
  const { client } = await openAdmin(t);
  const lifting = client.call("delete_suspension", { params: { kind: "key", name: "n" } });
  await assert.rejects(lifting, { status: 404, code: "not_found" });
});
