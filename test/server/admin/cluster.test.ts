/** Members, leadership, archives, secrets and the node itself, over the local socket. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { request as httpRequest } from "node:http";
import type { Socket } from "node:net";
import { test } from "node:test";
import { ARCHIVE_TYPE } from "../../../src/admin-api/index.ts";
import { FEATURE_RANGE } from "../../../src/server/core/state/index.ts";
import { until } from "../cluster/support/outcome.ts";
import { NOW, openAdmin } from "./support/open-admin.ts";

async function digest(parts: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<string> {
  const hash = createHash("sha256");
  for await (const part of parts) hash.update(part);
  return hash.digest("hex");
}

test("a member is removed, and an unknown one is not found", async (t) => {
  const { client } = await openAdmin(t);
  await client.call("delete_cluster_member", { params: { id: "n3" } });
  assert.deepEqual(
    (await client.call("list_cluster_members")).items.map(({ id }) => id),
    ["n1", "n2"],
  );
  await assert.rejects(client.call("delete_cluster_member", { params: { id: "n3" } }), {
    status: 404,
    code: "not_found",
  });
});

test("pruning keeps exactly the listed members and reports kept and removed ones, also on a node that lags", async (t) => {
  const { client } = await openAdmin(t);
  assert.deepEqual(await client.call("prune_cluster", { body: { keep: ["n3", "n1"] } }), {
    members: ["n1", "n3"],
    removed: ["n2"],
  });
});

for (const keep of [[], ["n1", "n1"], ["n1", "n9"]]) {
  test(`pruning to ${JSON.stringify(keep)} is refused and removes nobody`, async (t) => {
    const { client } = await openAdmin(t);
    await assert.rejects(client.call("prune_cluster", { body: { keep } }), { status: 400, code: "invalid" });
    assert.equal((await client.call("list_cluster_members")).items.length, 3);
  });
}

test("leadership goes to the named member, or to one that the cluster chooses", async (t) => {
  const { client, send } = await openAdmin(t);
  assert.deepEqual(await client.call("transfer_leader", { body: { to: "n3" } }), { leader: "n3" });
  assert.equal((await send("POST", "/admin/v1/cluster/leader")).status, 200);
  await assert.rejects(client.call("transfer_leader", { body: { to: "n9" } }), { status: 400, code: "invalid" });
});

test("an archive is streamed complete in both directions", async (t) => {
  const { client, memory } = await openAdmin(t);
  const archive = await client.call("save_snapshot");
  const parts: Uint8Array[] = [];
  for await (const part of archive) parts.push(part);
  assert.equal(
    parts.reduce((sum, { length }) => sum + length, 0),
    300_000,
  );

  const restored = await client.call("restore_snapshot", {
    body: (async function* () {
      yield* parts;
    })(),
  });
  assert.deepEqual(restored, { index: 41, term: 2, size: 300_000 });
  assert.equal(await digest(memory.restored), await digest(parts));
});

test("a connection may be silent for as long as a restore takes", async (t) => {
  const { client } = await openAdmin(t);
  const sockets: Socket[] = [];
  const onSocket = (message: unknown): void => void sockets.push((message as { readonly socket: Socket }).socket);
  subscribe("net.server.socket", onSocket);
  t.after(() => unsubscribe("net.server.socket", onSocket));
  const longest = () => Math.max(...sockets.map(({ timeout = 0 }) => timeout));
  await client.call("list_cluster_members");
  assert.ok(longest() < 100_000, "between requests");
  const body = (async function* () {
    yield Buffer.from("archive");
    await until("the restore begins", () => longest() > 600_000);
  })();
  await client.call("restore_snapshot", { body });
  await client.call("list_cluster_members");
  assert.ok(longest() < 100_000);
});

test("an archive has its log position and its content type", async (t) => {
  const { send } = await openAdmin(t);
  const { headers } = await send("GET", "/admin/v1/snapshot?stale=true");
  assert.equal(headers["content-type"], ARCHIVE_TYPE);
  assert.equal(headers["x-gateway-term"], "3");
  assert.match(String(headers["content-disposition"]), /^attachment; filename="snapshot-3-\d+\.tar\.gz"$/);
});

test("an archive that cannot be made or restored is refused with the cluster's code", async (t) => {
  const { client, memory } = await openAdmin(t);
  memory.failNext("no_leader", "This node does not lead.");
  await assert.rejects(client.call("save_snapshot"), { status: 503, code: "no_leader" });
  memory.failNext("refused", "The archive is of another cluster secret.");
  const body = (async function* () {
    yield Buffer.alloc(4 << 20);
  })();
  await assert.rejects(client.call("restore_snapshot", { body }), { status: 422, code: "refused" });
});

test("an archive that breaks off while it is sent breaks off at the reader", async (t) => {
  const { memory } = await openAdmin(t);
  const broken = {
    ...memory.cluster,
    saveSnapshot: async () => ({
      info: { index: 1, term: 1, size: 1 },
      archive: (async function* () {
        yield Buffer.alloc(10);
        throw new Error("the disk is gone");
      })(),
    }),
  };
  const { client, log } = await openAdmin(t, { cluster: broken });
  const reading = client.call("save_snapshot").then((archive) => digest(archive));
  await assert.rejects(reading, { code: "unreachable" });
  assert.match(log(), /the disk is gone/);
});

test("a reader that disconnects ends the archive", async (t) => {
  const { memory } = await openAdmin(t);
  let ended: () => void = () => {};
  const gone = new Promise<void>((resolve) => {
    ended = resolve;
  });
  const endless = {
    ...memory.cluster,
    saveSnapshot: async () => ({
      info: { index: 1, term: 1, size: 1 },
      archive: (async function* () {
        try {
          while (true) yield Buffer.alloc(1 << 16);
        } finally {
          ended();
        }
      })(),
    }),
  };
  const { path } = await openAdmin(t, { cluster: endless });
  const request = httpRequest({ socketPath: path, path: "/admin/v1/snapshot", agent: false }, (response) => {
    response.once("data", () => request.destroy());
  });
  request.on("error", () => {});
  request.end();
  await gone;
});

test("a secret is stored, counted and listed, and its value is shown nowhere", async (t) => {
  const { client } = await openAdmin(t);
  const params = { name: "OPENAI_KEY" };
  await client.call("put_secret", { params, body: { value: "one" } });
  const record = await client.call("put_secret", { params, body: { value: "two" } });
  assert.deepEqual(record, {
    name: "OPENAI_KEY",
    version: 2,
    updated_at: new Date(NOW).toISOString(),
    kek: "s:1f0a2b3c",
  });
  assert.deepEqual(await client.call("rewrap_secrets"), { kek: "s:1f0a2b3c", data_keys: 1 });
  await client.call("delete_secret", { params });
  assert.deepEqual((await client.call("list_secrets")).items, []);
  await assert.rejects(client.call("delete_secret", { params }), { status: 404, code: "not_found" });
});

test("the idempotency record of a secret has a keyed digest, not a plain hash of its value", async (t) => {
  const { secrets } = await openAdmin(t);
  const digests: (string | undefined)[] = [];
  const requests: string[] = [];
  const watched: typeof secrets = {
    ...secrets,
    put(name, value, write) {
      digests.push(write.idempotency?.digest);
      return secrets.put(name, value, write);
    },
    requestDigest(request) {
      requests.push(Buffer.from(request).toString("utf8"));
      return "keyed";
    },
  };
  const { client } = await openAdmin(t, { secrets: watched });
  await client.call("put_secret", { params: { name: "a" }, body: { value: "v" }, idempotencyKey: "k" });
  assert.deepEqual(digests, ["keyed"]);
  assert.deepEqual(requests, ['PUT /admin/v1/secrets/a\n\n{"value":"v"}']);
});

test("the status has node, leader, version, uptime, listeners and applied index", async (t) => {
  const { client, memory } = await openAdmin(t);
  await client.call("create_key", { body: { name: "a" } });
  assert.deepEqual(await client.call("get_status"), {
    node: "n1",
    version: "1.2.3",
    started_at: new Date(NOW - 90_000).toISOString(),
    uptime_seconds: 90,
    role: "leader",
    leader: "n1",
    term: 3,
    commit_index: 1,
    applied_index: 1,
    cluster_id: "c1",
    ready: true,
    reasons: [],
    listeners: [{ name: "data plane", address: "127.0.0.1:8484" }],
    configuration: { state: "running", message: null },
    feature: { level: FEATURE_RANGE.max, highest: FEATURE_RANGE.max, waiting: null },
    disk_low: false,
    forward_proxies: [],
    time: { ahead_ms: 0, log_ahead_ms: 0 },
    workers: { wanted: 2, serving: 1, restarts: 1, recent_ends: 0, last_end_at: null, last_end_by: null },
    models: [{ name: "names", state: "fetching", bytes: 12, total_bytes: 431, message: null }],
    certificates: [
      {
        names: ["gateway.example.com"],
        serial: "4A",
        not_after: "2027-01-30T00:00:00.000Z",
        next_renewal: null,
        last_error: null,
      },
    ],
  });
  memory.setMembers([]);
  assert.equal((await client.call("get_status")).leader, null);
});

test("a caller on the socket is the user of the process, with the role `local`", async (t) => {
  const { client } = await openAdmin(t);
  assert.deepEqual(await client.call("get_whoami"), { issuer: "local", subject: "unix:1000", roles: ["local"] });
});
