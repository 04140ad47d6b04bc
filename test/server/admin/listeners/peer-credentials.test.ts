// tier: all
/** The peer of the local socket, as the operating system reports it. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, readdir, rm } from "node:fs/promises";
import { connect, createServer, Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { type TestContext, test } from "node:test";
import { PERMIT_ALL } from "../../../../src/server/admin/access/types.ts";
import { openAdminPlane } from "../../../../src/server/admin/admin-plane.ts";
import { openAdminSocket } from "../../../../src/server/admin/listeners/admin-socket.ts";
import { openPeerCredentials, type PeerCredentials } from "../../../../src/server/admin/listeners/peer-credentials.ts";
import { handlerPorts } from "../support/handler-ports.ts";
import { exchange } from "./support/raw.ts";

const credentials = await openPeerCredentials().catch(() => undefined);
const lacksKoffi = credentials === undefined && "koffi is not installed";
const isNotRoot = process.getuid?.() !== 0 && "another user's process can be started by root only";

const WHOAMI = "GET /admin/v1/whoami HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";

async function directoryOf(t: TestContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "gateway-peer-"));
  t.after(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

async function openSocket(t: TestContext, peerCredentials?: PeerCredentials) {
  const directory = await directoryOf(t);
  const path = join(directory, "admin.sock");
  const plane = openAdminPlane(handlerPorts(), PERMIT_ALL);
  const opened = await openAdminSocket({ path, plane, ...(peerCredentials && { peerCredentials }) });
  t.after(() => opened.close(0));
  return { directory, path };
}

const bodyOf = (answer: string): unknown => JSON.parse(answer.slice(answer.indexOf("\r\n\r\n")));

test("the caller is the user of the process that connected", { skip: lacksKoffi }, async (t) => {
  const { path } = await openSocket(t);
  const subject = `unix:${process.getuid?.()}`;
  assert.deepEqual(bodyOf(await exchange({ path }, WHOAMI)), { issuer: "local", subject, roles: ["local"] });
});

test("a caller that runs as another user has that user's identity", { skip: lacksKoffi || isNotRoot }, async (t) => {
  const { directory, path } = await openSocket(t);
  await chmod(directory, 0o755);
  await chmod(path, 0o666);
  const script = `const s = require("net").connect(${JSON.stringify(path)}); s.pipe(process.stdout); s.write(${JSON.stringify(WHOAMI)})`;
  const child = spawn(process.execPath, ["-e", script], {
    uid: 65_534,
    gid: 65_534,
    cwd: "/",
    stdio: ["ignore", "pipe", "inherit"],
  });
  const answer = await text(child.stdout);
  assert.deepEqual(bodyOf(answer), { issuer: "local", subject: "unix:65534", roles: ["local"] });
});

test("user, group and process come from the system", { skip: lacksKoffi }, async (t) => {
  const path = join(await directoryOf(t), "s");
  const server = createServer().listen(path);
  t.after(() => server.close());
  await once(server, "listening");
  const client = connect(path);
  t.after(() => client.destroy());
  const [accepted] = (await once(server, "connection")) as [Socket];
  assert.deepEqual(credentials?.(accepted), {
    uid: process.getuid?.(),
    gid: process.getgid?.(),
    pid: process.platform === "linux" ? process.pid : undefined,
  });
  accepted.destroy();
  assert.throws(() => credentials?.(accepted), /the socket has no descriptor/);
});

test("a socket that is not a Unix socket has no user", {
  skip: lacksKoffi || process.platform !== "linux",
}, async (t) => {
  assert.throws(() => credentials?.(new Socket()), /the socket has no descriptor/);
  const server = createServer().listen(0, "127.0.0.1");
  t.after(() => server.close());
  await once(server, "listening");
  const bound = server.address();
  const client = connect(typeof bound === "object" && bound !== null ? bound.port : 0, "127.0.0.1");
  t.after(() => client.destroy());
  const [accepted] = (await once(server, "connection")) as [Socket];
  assert.throws(() => credentials?.(accepted), /the socket has no user/);
});

test("a caller without system credentials is cut off before its first request", async (t) => {
  let callCount = 0;
  const { path } = await openSocket(t, () => {
    callCount += 1;
    throw new Error("getsockopt failed");
  });
  assert.equal(await exchange({ path }, WHOAMI), "");
  assert.equal(callCount, 1);
});

test("the system is asked once per connection", async (t) => {
  let callCount = 0;
  const { path } = await openSocket(t, () => ({ uid: ++callCount, gid: 0, pid: undefined }));
  const answer = await exchange({ path }, WHOAMI.replace("connection: close\r\n", "").repeat(2) + WHOAMI);
  assert.deepEqual(
    [...answer.matchAll(/unix:(\d+)/g)].map(([, uid]) => uid),
    ["1", "1", "1"],
  );
  assert.match(await exchange({ path }, WHOAMI), /unix:2/);
});

test("without koffi the socket does not open, and the error names the library and the setting", async () => {
  const absent = (): Promise<never> => Promise.reject(Object.assign(new Error("x"), { code: "ERR_MODULE_NOT_FOUND" }));
  await assert.rejects(openPeerCredentials(absent, { platform: "linux", arch: "x64" }), (error: Error) => {
    assert.match(
      error.message,
      /^admin\.local_socket: the library koffi, .* cannot be loaded for linux-x64; install the program again, or leave/,
    );
    assert.equal((error.cause as NodeJS.ErrnoException).code, "ERR_MODULE_NOT_FOUND");
    return true;
  });
});

for (const [platform, arch] of [
  ["win32", "x64"],
  ["linux", "mips"],
  ["aix", "ppc64"],
] as const) {
  test(`on ${platform} ${arch} the socket does not open, and the package is not loaded`, async () => {
    const load = () => assert.fail("loaded");
    await assert.rejects(
      openPeerCredentials(load, { platform, arch }),
      /^Error: admin\.local_socket: .* cannot identify the peer/,
    );
  });
}

test("a socket that cannot be bound leaves nothing behind", async (t) => {
  const directory = await directoryOf(t);
  const plane = openAdminPlane(handlerPorts(), PERMIT_ALL);
  const peerCredentials = () => ({ uid: 0, gid: 0, pid: undefined });
  const path = join(directory, "none", "admin.sock");
  await assert.rejects(openAdminSocket({ path, plane, peerCredentials }), /its directory does not exist/);
  assert.deepEqual(await readdir(directory), []);
});
