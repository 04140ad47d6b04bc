/** Suspensions over the local socket: put, replaced, lifted, ended by time. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { SUSPENSION_KINDS } from "../../../src/admin-api/index.ts";
import { NOW, openDoor } from "./support/open-door.ts";

test("a suspension is put with who, why and until when, and reads back as it was answered", async (t) => {
  const { client } = await openDoor(t);
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
  test(`a suspension of ${JSON.stringify(body)} holds until it is lifted`, async (t) => {
    const { client, setNow } = await openDoor(t);
    const params = { kind: "mcp", name: "files" } as const;
    assert.equal((await client.call("put_suspension", { params, body })).until, null);
    setNow(NOW + 10 * 365 * 86_400_000);
    assert.equal((await client.call("list_suspensions")).items[0]?.status, "active");
    await client.call("delete_suspension", { params });
    assert.deepEqual((await client.call("list_suspensions")).items, []);
  });
}

test("a suspension that is put again is replaced", async (t) => {
  const { client } = await openDoor(t);
  const params = { kind: "model", name: "m" } as const;
  await client.call("put_suspension", { params, body: { reason: "a", duration: "1h" } });
  await client.call("put_suspension", { params, body: { reason: "b" } });
  assert.deepEqual(
    (await client.call("list_suspensions")).items.map(({ reason, until }) => [reason, until]),
    [["b", null]],
  );
});

test("a suspension that has ended says so while it is still listed", async (t) => {
  const { client, setNow } = await openDoor(t);
  await client.call("put_suspension", { params: { kind: "model", name: "m" }, body: { reason: "a", duration: "1h" } });
  setNow(NOW + 3_600_000);
  assert.equal((await client.call("list_suspensions")).items[0]?.status, "ended");
});

test("a name may hold whatever names hold, colons and slashes too", async (t) => {
  const { client, send } = await openDoor(t);
  const names = ["vendor/model:free", "https://issuer.example/realm", "a:b:c", "x%2Fy"];
  for (const name of names)
    await client.call("put_suspension", { params: { kind: "model", name }, body: { reason: "x" } });
  assert.deepEqual((await client.call("list_suspensions")).items.map(({ name }) => name).sort(), [...names].sort());
  for (const name of names) await client.call("delete_suspension", { params: { kind: "model", name } });
  const answer = await send("PUT", "/admin/v1/suspensions/model%3Aa", { body: '{"reason":"x"}' });
  assert.deepEqual([answer.status, answer.json<{ name: string }>().name], [200, "a"]);
});

test("every kind can be suspended", async (t) => {
  const { client } = await openDoor(t);
  for (const kind of SUSPENSION_KINDS)
    await client.call("put_suspension", { params: { kind, name: "n" }, body: { reason: "x" } });
  assert.equal((await client.call("list_suspensions")).items.length, SUSPENSION_KINDS.length);
});

test("what is not suspended cannot be lifted", async (t) => {
  const { client } = await openDoor(t);
  const lifting = client.call("delete_suspension", { params: { kind: "key", name: "n" } });
  await assert.rejects(lifting, { status: 404, code: "not_found" });
});
