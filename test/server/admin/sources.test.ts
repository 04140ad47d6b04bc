/** Configuration sources over the local socket: revisions, dry runs, refusals with places, rollback, single writer. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { NOW, openAdmin } from "./support/open-admin.ts";

const params = { name: "team" } as const;

test("a source is stored as written and reads back with its revision as ETag", async (t) => {
  const { client, send } = await openAdmin(t);
  const document = "# ours\nproviders: []\n";
  const change = await client.call("put_source", { params, body: document });
  assert.deepEqual([change.revision, change.changed, change.differences.length], [1, true, 1]);
  const answer = await send("GET", "/admin/v1/sources/team");
  assert.equal(answer.headers["etag"], '"1"');
  assert.deepEqual(answer.json<unknown>(), {
    name: "team",
    revision: 1,
    writer: "api",
    updated_at: new Date(NOW).toISOString(),
    by: "unix:1000",
    state: "running",
    message: null,
    document,
  });
  assert.deepEqual(
    (await client.call("list_sources")).items.map(({ name, revision }) => [name, revision]),
    [["team", 1]],
  );
});

test("writing the same document again changes nothing", async (t) => {
  const { client } = await openAdmin(t);
  await client.call("put_source", { params, body: "a: 1" });
  const again = await client.call("put_source", { params, body: "a: 1" });
  assert.deepEqual([again.revision, again.changed], [1, false]);
});

test("a dry run answers with the difference and writes nothing", async (t) => {
  const { client } = await openAdmin(t);
  const change = await client.call("put_source", { params, body: "a: 1", query: { dry_run: true } });
  assert.deepEqual([change.revision, change.changed], [0, true]);
  assert.deepEqual((await client.call("list_sources")).items, []);
});

for (const dry_run of [false, true]) {
  test(`a document that does not compile is refused with place and reason, ${dry_run ? "dry" : "written"}`, async (t) => {
    const { client } = await openAdmin(t);
    await assert.rejects(client.call("put_source", { params, body: "a: 1\nb: refused", query: { dry_run } }), {
      status: 422,
      code: "refused",
      message: "The document is refused: providers[0]: no such.",
      details: [{ source: "team", path: "providers[0]", line: 2, column: 1, message: "no such" }],
    });
    assert.deepEqual((await client.call("list_sources")).items, []);
  });
}

test("a revision that is no longer the newest is stale", async (t) => {
  const { client } = await openAdmin(t);
  await client.call("put_source", { params, body: "a: 1", ifMatch: 0 });
  await client.call("put_source", { params, body: "a: 2", ifMatch: 1 });
  const stale = { status: 412, code: "stale" };
  await assert.rejects(client.call("put_source", { params, body: "a: 3", ifMatch: 1 }), stale);
  await assert.rejects(client.call("delete_source", { params, ifMatch: 1 }), stale);
  await assert.rejects(client.call("rollback_source", { params, body: { revision: 1 }, ifMatch: 1 }), stale);
  await client.call("delete_source", { params, ifMatch: 2 });
});

test("revisions are listed newest first, shown one by one, and rolled back to as a new revision", async (t) => {
  const { client } = await openAdmin(t);
  await client.call("put_source", { params, body: "a: 1" });
  await client.call("put_source", { params, body: "a: 2" });
  const { items } = await client.call("list_source_revisions", { params });
  assert.deepEqual(
    items.map(({ revision, bytes }) => [revision, bytes]),
    [
      [2, 4],
      [1, 4],
    ],
  );
  const first = await client.call("get_source_revision", { params: { ...params, revision: 1 } });
  assert.equal(first.document, "a: 1");
  const dry = await client.call("rollback_source", { params, body: { revision: 1 }, query: { dry_run: true } });
  assert.deepEqual([dry.revision, dry.changed], [2, true]);
  assert.equal((await client.call("rollback_source", { params, body: { revision: 1 } })).revision, 3);
  assert.equal((await client.call("get_source", { params })).document, "a: 1");
});

test("an unknown source or revision answers 404", async (t) => {
  const { client } = await openAdmin(t);
  const missing = { status: 404, code: "not_found" };
  await assert.rejects(client.call("get_source", { params }), missing);
  await assert.rejects(client.call("delete_source", { params }), missing);
  await assert.rejects(client.call("list_source_revisions", { params }), missing);
  await assert.rejects(client.call("rollback_source", { params, body: { revision: 1 } }), missing);
  await client.call("put_source", { params, body: "a: 1" });
  await assert.rejects(client.call("get_source_revision", { params: { ...params, revision: 9 } }), missing);
  await assert.rejects(client.call("rollback_source", { params, body: { revision: 9 } }), missing);
});

test("a file-configured deployment refuses the three writes and names the node file's key", async (t) => {
  const { client, sources } = await openAdmin(t);
  await client.call("put_source", { params, body: "a: 1" });
  sources.ownByFile();
  const refused = { status: 409, code: "conflict", message: /`deployment` of the node file/ };
  await assert.rejects(client.call("put_source", { params, body: "a: 2" }), refused);
  await assert.rejects(client.call("delete_source", { params }), refused);
  await assert.rejects(client.call("rollback_source", { params, body: { revision: 1 } }), refused);
});

test("a node that cannot compile a revision says so and wakes readers", async (t) => {
  const { client, sources } = await openAdmin(t);
  await client.call("put_source", { params, body: "a: 1" });
  const { index } = await client.call("list_sources");
  const reading = client.call("list_sources", { query: { index, wait: "5m" } });
  await client.call("get_whoami");
  sources.setStanding("team", "refused", "a library is missing");
  const { items } = await reading;
  assert.deepEqual(
    items.map(({ state, message }) => [state, message]),
    [["refused", "a library is missing"]],
  );
});

test("the configuration shows its origin, its sources and the state of the file", async (t) => {
  const { client, sources } = await openAdmin(t);
  await client.call("put_source", { params: { name: "default" }, body: "a: 1" });
  assert.equal((await client.call("get_config")).file_status.state, "no_file");
  await assert.rejects(client.call("reload_config"), { status: 409, code: "conflict" });
  sources.ownByFile();
  const config = await client.call("get_config");
  assert.deepEqual(config.sources, [{ name: "default", revision: 1 }]);
  assert.deepEqual(await client.call("reload_config"), {
    applied: false,
    revision: 1,
    file_status: config.file_status,
  });
  const { differences } = await client.call("reload_config", { query: { dry_run: true } });
  assert.deepEqual(differences, [{ path: "providers.a", kind: "added" }]);
});

test("a document of several megabytes is accepted", async (t) => {
  const { client } = await openAdmin(t);
  const body = `# ${"x".repeat(6 << 20)}\n`;
  await client.call("put_source", { params, body });
  assert.equal((await client.call("get_source", { params })).document.length, body.length);
});
