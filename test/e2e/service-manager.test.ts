/** The gateway under a service manager: a datagram socket receives its reports, as with systemd. */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { writeFiles } from "./support/config.ts";
import { startGateway } from "./support/gateway.ts";
import { atEnd, eventually, type Owner } from "./support/wait.ts";

/** Receives datagrams, which Node.js cannot, and prints their lines. */
const MANAGER = `
import socket, sys
it = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
it.bind(sys.argv[1].replace("@", "\\0", 1))
print("bound", flush=True)
while True: print(it.recv(4096).decode().strip(), flush=True)
`;

const skip =
  process.platform !== "linux"
    ? "systemd is a Linux program"
    : spawnSync("python3", ["--version"]).status === 0
      ? false
      : "python3 is needed to receive datagrams";

async function manager(owner: Owner, name: string) {
  const child = spawn("python3", ["-c", MANAGER, name], { stdio: ["ignore", "pipe", "inherit"] });
  atEnd(owner, async () => void child.kill());
  let output = "";
  child.stdout.on("data", (bytes) => {
    output += String(bytes);
  });
  await eventually("the manager's socket", () => output.startsWith("bound\n"));
  return { messages: () => output.split("\n").slice(1, -1) };
}

for (const kind of ["a path", "an abstract name"]) {
  test(`the gateway reports ready, watchdog and stopping to ${kind}`, { skip }, async (t) => {
    const dir = await mkdtemp(join(tmpdir(), "gateway-notify-"));
    atEnd(t, () => rm(dir, { recursive: true, force: true }));
    const name = kind === "a path" ? join(dir, "notify") : `@${dir}`;
    const { messages } = await manager(t, name);
    const gateway = await startGateway(t, {
      args: ["-listen", "127.0.0.1:0", "-metrics-listen", "none", "-upstream", "http://127.0.0.1:9"],
      env: { NOTIFY_SOCKET: name, WATCHDOG_USEC: "100000" },
    });
    await eventually("two signs of life", () => messages().filter((it) => it === "WATCHDOG=1").length >= 2);
    gateway.signal("SIGTERM");
    assert.equal((await gateway.ended).status, 0);
    assert.equal(messages().filter((it) => it === "READY=1").length, 1);
    assert.ok(messages().includes("STOPPING=1"));
  });
}

test("a node reports its role, a reload, and the watchdog", { skip }, async (t) => {
  const dir = await mkdtemp(join(tmpdir(), "gateway-notify-"));
  atEnd(t, () => rm(dir, { recursive: true, force: true }));
  const name = join(dir, "notify");
  const { messages } = await manager(t, name);
  const files = await writeFiles(t, { providers: [] });
  const gateway = await startGateway(t, {
    args: ["-config", files.nodePath],
    env: { NOTIFY_SOCKET: name, WATCHDOG_USEC: "100000", GATEWAY_WORKERS: "1" },
  });
  await eventually("its role", () => messages().find((it) => /^STATUS=Serving; \S+ is the only member$/.test(it)));
  gateway.signal("SIGHUP");
  await eventually("a reload", () => messages().includes("RELOADING=1"));
  const from = messages().indexOf("RELOADING=1");
  await eventually("ready again", () => messages().lastIndexOf("READY=1") > from);
  assert.ok(from > messages().indexOf("READY=1"));
  assert.match(messages()[from + 1] ?? "", /^MONOTONIC_USEC=\d+$/);
  await eventually("signs of life", () => messages().filter((it) => it === "WATCHDOG=1").length >= 2);
});

test("an unreachable service manager does not keep a gateway from serving", { skip }, async (t) => {
  const gateway = await startGateway(t, {
    args: ["-listen", "127.0.0.1:0", "-metrics-listen", "none", "-upstream", "http://127.0.0.1:9"],
    env: { NOTIFY_SOCKET: "/nowhere/notify", WATCHDOG_USEC: "100000" },
  });
  const { report, errno } = await gateway.logged("the service manager did not accept a notification");
  // ENOENT.
  assert.deepEqual([report, errno], ["READY=1", 2]);
  gateway.signal("SIGTERM");
  assert.equal((await gateway.ended).status, 0);
});
