/**
 * The admin socket and listener of a real process: ownership of the socket, issuers changed by SIGHUP, and
 * unauthenticated clients that hold connections. Source: specification document 1, Authentication; design decisions,
 * section 5.
 */
import assert from "node:assert/strict";
import { lstat, readFile, rm } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { createOne, logged, SLOW_MS } from "../config/support/nodes.ts";
import type { Document } from "../support/config.ts";
import { runProgram } from "../support/gateway.ts";
import { atEnd, eventually, within } from "../support/wait.ts";
import { startIssuer } from "./support/issuer.ts";
import { planeOf, preparePlane, startPlane } from "./support/plane.ts";
import { openDescriptors } from "./support/process.ts";
import { exchange, refusedOf, send } from "./support/send.ts";

const POLICY = `
  permit(principal in Role::"local", action, resource);
  permit(principal in Role::"viewer", action in Action::"read", resource);
`;
/** More connections than the admin listener accepts. Those to the data plane may be served by another process. */
const CONNECTIONS = 1_100;
const ADMITTED = 1_024;

test("the admin socket belongs to its owner alone, is replaced after a crash, and is not taken from a live process", async (t) => {
  const node = await createOne(t, { deployment: { providers: [] } });
  const path = join(node.dir, "admin.sock");
  await node.start();
  const { mode } = await lstat(path);
  assert.ok((await lstat(path)).isSocket());
  assert.equal(mode & 0o777, 0o600);

  const other = await createOne(t, { deployment: { providers: [] }, changes: { admin: { local_socket: path } } });
  const refused = other.launch();
  const { status } = await within("the end of the second", refused.ended, SLOW_MS);
  assert.notEqual(status, 0);
  assert.match(refused.stderr(), /another process listens on/);
  assert.equal((await node.client.call("get_status")).ready, true);

  node.program.signal("SIGKILL");
  await node.program.ended;
  assert.ok((await lstat(path)).isSocket(), "a crash leaves it");
  await node.start();
  assert.equal((await node.client.call("get_status")).ready, true);

  for (const removal of ["the first removal", "another removal"]) {
    await rm(path);
    await eventually(removal, async () => (await lstat(path).catch(() => undefined))?.isSocket());
    assert.equal((await lstat(path)).mode & 0o777, 0o600);
    const asked = runProgram(t, { args: ["status"], env: { GATEWAY_ADMIN_SOCKET: path } });
    assert.deepEqual(await asked.ended, { status: 0, signal: null }, asked.stderr());
  }
  assert.match(node.program.stderr(), /the admin socket was removed by another process, and was created again/);
  await node.stop();
  await assert.rejects(lstat(path), { code: "ENOENT" });
});

test("verbs that call the address for clients of models say so", async (t) => {
  const { gateway } = await startPlane(t);
  const calls: readonly (readonly [args: readonly string[], words: RegExp])[] = [
    [
      ["status", "-url", gateway.url],
      /^gateway status: .*: This is the address for clients of models, not the admin API\.\ntry: the address that `admin\.listen`/,
    ],
    [["get", "-url", gateway.url, "keys"], /^gateway get: .*: This is the address for clients of models/],
    [
      ["query", "-url", gateway.url, "select 1 from keys"],
      /^gateway query: .*: This is the address for clients of models/,
    ],
    [
      ["login", gateway.url],
      /^gateway login: .* is the address for clients of models, not the admin API; use the one that `admin\.listen`/,
    ],
  ];
  for (const [args, pattern] of calls) {
    const program = runProgram(t, { args, env: { HOME: "/nonexistent" } });
    assert.equal((await program.ended).status, 1);
    assert.match(program.stderr(), pattern);
  }
});

test("a body with a duplicate member or a document with a duplicate key changes nothing, on the socket or the listener", async (t) => {
  const issuer = await startIssuer(t);
  const policy = `${POLICY}\npermit(principal in Role::"admin", action, resource);`;
  const { local, network } = await startPlane(t, { issuer: issuer.url, policy });
  const token = await issuer.tokenOf("alice", "admin");
  for (const [endpoint, as] of [
    [local, {}],
    [network, { token }],
  ] as const) {
    const twice = await send(endpoint, "POST", "/admin/v1/keys", { ...as, body: '{"name":"a","name":"b"}' });
    assert.deepEqual([twice.status, refusedOf(twice).code], [400, "invalid"], twice.text);
    assert.match(twice.text, /the member `name` twice/);
    for (const document of ["max_body_bytes: 1\nmax_body_bytes: 2\n", '{"max_body_bytes":1,"max_body_bytes":2}']) {
      const refused = await send(endpoint, "PUT", "/admin/v1/sources/a", { ...as, body: document });
      assert.equal(refused.status, 422, refused.text);
      assert.match(refused.text, /appears here a second time/);
    }
    assert.match((await send(endpoint, "GET", "/admin/v1/keys", as)).text, /^\{"items":\[\]/);
  }
});

test("SIGHUP applies changed issuers and names the settings that need a restart", async (t) => {
  const [first, second] = [await startIssuer(t), await startIssuer(t)];
  const plane = await startPlane(t, { issuer: first.url, policy: POLICY, deployment: { providers: [] } });
  const statusOf = async (token: string) => (await send(plane.network, "GET", "/admin/v1/whoami", { token })).status;
  const tokens = { first: await first.tokenOf("alice", "viewer"), second: await second.tokenOf("alice", "viewer") };
  assert.deepEqual([await statusOf(tokens.first), await statusOf(tokens.second)], [200, 401]);

  const file = JSON.parse(await readFile(plane.node.nodePath, "utf8")) as { readonly admin: Document };
  const issuers = [{ name: "corp", url: second.url }];
  await plane.node.writeNode({ ...file, issuers });
  const from = plane.gateway.log().length;
  plane.gateway.signal("SIGHUP");
  await logged(plane.gateway, "reloaded", from);
  assert.deepEqual([await statusOf(tokens.first), await statusOf(tokens.second)], [401, 200]);

  const admin = { ...file.admin, policy_file: "another.cedar" };
  await plane.node.writeNode({ ...file, issuers, admin });
  const next = plane.gateway.log().length;
  plane.gateway.signal("SIGHUP");
  await logged(plane.gateway, "reloaded", next);
  const lines = plane.gateway.log().slice(next);
  assert.ok(
    lines.some((line) => /restart/.test(line.message) && /admin/.test(JSON.stringify(line))),
    JSON.stringify(lines),
  );
  assert.equal(await statusOf(tokens.second), 200);
});

test("unauthenticated clients that occupy every connection of one listener do not block the other, and are cut off", async (t) => {
  const issuer = await startIssuer(t);
  const node = await preparePlane(t, { issuer: issuer.url, policy: POLICY, deployment: { providers: [] } });
  const plane = await planeOf(node, { deployment: {} });
  const before = openDescriptors(plane.gateway.pid);
  // These clients send nothing, read nothing and never close.
  const ports = [
    ...Array<number>(CONNECTIONS).fill(plane.network.port),
    ...Array<number>(100).fill(plane.gateway.port),
  ];
  for (const port of ports) {
    const socket = connect(port, "127.0.0.1").on("error", () => undefined);
    atEnd(t, () => socket.destroy());
  }
  await eventually("a full door", () => openDescriptors(plane.gateway.pid) >= before + ADMITTED);
  assert.equal((await send(plane.local, "GET", "/admin/v1/whoami")).status, 200);
  assert.equal((await fetch(String(plane.gateway.metricsUrl))).status, 200);
  // A client that sends nothing is disconnected after ten seconds.
  await eventually("their end", () => openDescriptors(plane.gateway.pid) < before + 10, 30_000);
  const token = await issuer.tokenOf("alice", "viewer");
  assert.equal((await exchange(plane.network, "GET", "/admin/v1/whoami", { token })).status, 200);
});
