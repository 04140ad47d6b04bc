/** Acknowledgements over the local socket: put, replaced, lifted, expired, recorded, awaited. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { NOW, openAdmin } from "./support/open-admin.ts";

const params = { name: "provider:acme-chat" } as const;
const body = { reason: "known since noon", duration: "2h", severity: "fail", degree: 1 } as const;

test("an acknowledgement is stored with caller, reason, severity and expiry, and reads back as answered", async (t) => {
  const { client, audit } = await openAdmin(t);
  const put = await client.call("put_acknowledgement", { params, body });
  assert.deepEqual(put, {
    ...params,
    reason: "known since noon",
    by: "unix:1000",
    created_at: new Date(NOW).toISOString(),
    until: new Date(NOW + 7_200_000).toISOString(),
    severity: "fail",
    degree: 1,
    status: "active",
  });
  assert.deepEqual((await client.call("list_acknowledgements")).items, [put]);
  const { event, data } = audit.entries.find((entry) => entry.data["action"] === "put_acknowledgement") ?? {};
  assert.deepEqual(
    [event, data?.["resource"], data?.["reason"], data?.["until"], data?.["outcome"]],
    ["admin.write", 'Acknowledgement::"provider:acme-chat"', "known since noon", put.until, "done"],
  );
});

test("a severity that was not given stays unset, and putting again replaces the row", async (t) => {
  const { client, setNow } = await openAdmin(t);
  await client.call("put_acknowledgement", { params, body });
  const put = await client.call("put_acknowledgement", { params, body: { reason: "longer", duration: "4h" } });
  assert.deepEqual([put.severity, put.degree, put.reason], [null, null, "longer"]);
  setNow(NOW + 4 * 3_600_000);
  assert.deepEqual(
    (await client.call("list_acknowledgements")).items.map(({ reason, status }) => [reason, status]),
    [["longer", "ended"]],
  );
});

test("an acknowledgement is lifted once, whatever characters its name has", async (t) => {
  const { client } = await openAdmin(t);
  for (const name of ['refused:["key","a/b %2F","\u6a21\u578b"]', "...", "a?b#c", "x".repeat(512)]) {
    await client.call("put_acknowledgement", { params: { name }, body });
    assert.deepEqual(
      (await client.call("list_acknowledgements")).items.map((row) => row.name),
      [name],
    );
    await client.call("delete_acknowledgement", { params: { name } });
    const again = client.call("delete_acknowledgement", { params: { name } });
    await assert.rejects(again, { status: 404, code: "not_found" });
  }
});

test("an acknowledgement without an expiry, with a distant one, or with a dot segment as its name is refused", async (t) => {
  const { send, memory } = await openAdmin(t);
  const put = async (name: string, text: object) =>
    (await send("PUT", `/admin/v1/acknowledgements/${name}`, { body: JSON.stringify(text) })).status;
  for (const duration of [undefined, "", "0s", "-1h", "721h", "tomorrow"]) {
    assert.equal(await put("x", { ...body, duration }), 400, duration);
  }
  for (const other of [{ reason: "" }, { reason: "a\nb" }, { severity: "bad" }, { degree: -1 }, { until: "x" }]) {
    assert.equal(await put("x", { ...body, ...other }), 400, JSON.stringify(other));
  }
  assert.equal(await put("%2E%2E", body), 400);
  assert.equal(await put("y".repeat(513), body), 400);
  assert.equal(memory.writes, 0, "nothing is written");
});

test("a blocking read of the list is answered once an acknowledgement is put", async (t) => {
  const { client } = await openAdmin(t);
  const { index } = await client.call("list_acknowledgements");
  const waiting = client.call("list_acknowledgements", { query: { index, wait: "30s" } });
  await client.call("put_acknowledgement", { params, body });
  assert.deepEqual(
    (await waiting).items.map(({ name }) => name),
    ["provider:acme-chat"],
  );
});
