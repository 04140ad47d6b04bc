/** The socket itself: its ownership, what it replaces and refuses, and its removal. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, lstat, mkdir, readdir, rename, stat, symlink, writeFile } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { placeSocket } from "../../../../src/server/admin/listeners/socket-path.ts";
import { openAdmin, send } from "../support/open-admin.ts";

/** Leaves a socket file without a listener, like a killed process. */
async function leaveStale(path: string): Promise<void> {
  const script = `require("net").createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, "SIGKILL"))`;
  await once(spawn(process.execPath, ["-e", script], { stdio: "ignore" }), "exit");
  assert.ok((await lstat(path)).isSocket());
}

test("the socket exists with mode 0600 and no leftover file beside it", async (t) => {
  const { path, directory } = await openAdmin(t);
  const { mode } = await stat(path);
  assert.equal((mode & 0o777).toString(8), "600");
  assert.deepEqual(await readdir(directory), ["admin.sock"]);
});

test("the socket never has more permissions than 0600 at a path that others can reach", async (t) => {
  const { directory } = await openAdmin(t);
  const seen: string[] = [];
  const server = createServer();
  t.after(() => server.close());
  const placed = await placeSocket(join(directory, "other.sock"), async (bound) => {
    server.listen(bound);
    await once(server, "listening");
    seen.push(((await stat(join(bound, ".."))).mode & 0o777).toString(8));
    await assert.rejects(lstat(join(directory, "other.sock")), { code: "ENOENT" });
  });
  assert.deepEqual(seen, ["700"]);
  await placed.remove();
});

test("a stale socket is replaced", async (t) => {
  const { directory } = await openAdmin(t);
  const path = join(directory, "stale.sock");
  await leaveStale(path);
  const server = createServer((socket) => socket.end("here"));
  t.after(() => server.close());
  const placed = await placeSocket(path, async (bound) => once(server.listen(bound), "listening"));
  const [answer] = await once(connect(path), "data");
  assert.equal(String(answer), "here");
  await placed.remove();
});

test("a socket in use is refused and continues to work", async (t) => {
  const { path, client } = await openAdmin(t);
  const bind = () => assert.fail("nothing is bound");
  await assert.rejects(placeSocket(path, bind), /another process listens on .*admin\.sock; stop it/);
  assert.equal((await client.call("get_whoami")).subject, "unix:1000");
});

test("a file, a directory or a link at the socket's path is refused and left alone", async (t) => {
  const { directory, path } = await openAdmin(t);
  const [file, folder, link] = ["file", "folder", "link"].map((name) => join(directory, name)) as [
    string,
    string,
    string,
  ];
  await writeFile(file, "mine");
  await mkdir(folder);
  await symlink(path, link);
  for (const place of [file, folder, link]) {
    await assert.rejects(
      placeSocket(place, async () => {}),
      /is not a socket/,
    );
    await lstat(place);
  }
});

test("a path too long for the system is refused with its length in bytes", async (t) => {
  const { directory } = await openAdmin(t);
  const path = join(directory, "ü".repeat(60));
  await assert.rejects(
    placeSocket(path, async () => {}),
    /is too long: the system allows \d+ bytes, and this path needs \d+/,
  );
});

test("the longest path that fits is accepted", async (t) => {
  const { directory } = await openAdmin(t);
  const path = join(directory, "s".repeat((process.platform === "linux" ? 107 : 103) - directory.length - 1));
  const server = createServer((socket) => socket.end("here"));
  t.after(() => server.close());
  const placed = await placeSocket(path, async (bound) => once(server.listen(bound), "listening"));
  await once(connect(path), "data");
  await placed.remove();
});

test("a directory that is missing or not writable is named in the error", async (t) => {
  const { directory } = await openAdmin(t);
  await assert.rejects(
    placeSocket(join(directory, "none", "a.sock"), async () => {}),
    /its directory does not exist/,
  );
  if (process.getuid?.() === 0) return;
  await chmod(directory, 0o500);
  t.after(() => chmod(directory, 0o700));
  await assert.rejects(
    placeSocket(join(directory, "a.sock"), async () => {}),
    /is not writable/,
  );
});

test("a bound socket is removed again if its path cannot be taken", async (t) => {
  const { directory } = await openAdmin(t);
  await assert.rejects(
    placeSocket(join(directory, "a.sock"), async () => {
      throw new Error("no descriptors");
    }),
    /cannot listen on .*a\.sock: no descriptors/,
  );
  assert.deepEqual(await readdir(directory), ["admin.sock"]);
});

test("the socket is removed when the listener closes, unless another process has replaced it", async (t) => {
  const first = await openAdmin(t);
  await first.listener.close();
  assert.deepEqual(await readdir(first.directory), []);

  const second = await openAdmin(t);
  await writeFile(`${second.path}.new`, "");
  await rename(`${second.path}.new`, second.path);
  await second.listener.close();
  assert.deepEqual(await readdir(second.directory), ["admin.sock"]);
});

test("a closing listener answers blocking reads and closes kept-alive connections", async (t) => {
  const { client, listener, send: sendHere } = await openAdmin(t);
  const { index } = await client.call("list_keys");
  const waiting = sendHere("GET", `/admin/v1/keys?index=${index}&wait=5m`);
  await client.call("get_whoami");
  const closed = listener.close();
  assert.equal((await waiting).status, 200);
  await closed;
});

test("health and readiness are answered at the root, readiness with its reasons", async (t) => {
  const { path, setReady } = await openAdmin(t);
  assert.deepEqual((await send(path, "GET", "/healthz")).json<unknown>(), { healthy: true });
  const ready = await send(path, "GET", "/readyz");
  assert.deepEqual([ready.status, ready.json<unknown>()], [200, { ready: true, reasons: [] }]);
  setReady(false, ["starting"]);
  const not = await send(path, "GET", "/readyz");
  assert.deepEqual([not.status, not.json<unknown>()], [503, { ready: false, reasons: ["starting"] }]);
  assert.equal((await send(path, "GET", "/healthz")).status, 200);
});

test("a node that cannot write is still ready", async (t) => {
  const { path, memory } = await openAdmin(t);
  memory.setMembers([]);
  assert.equal((await send(path, "GET", "/readyz")).status, 200);
});
