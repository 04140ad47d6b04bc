/** The daemon under a service manager: a socket that takes its datagrams, as systemd has one. */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { startGateway } from "./support/gateway.ts";
import { atEnd, eventually, type Owner } from "./support/wait.ts";

/** Node.js cannot take them. Prints each datagram on a line. */
const MANAGER = `
import socket, sys
it = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
it.bind(sys.argv[1].replace("@", "\\0", 1))
print("bound", flush=True)
while True: print(it.recv(4096).decode().strip(), flush=True)
`;

const skip =
  process.platform !== "linux"
    ? "systemd is of Linux"
    : spawnSync("python3", ["--version"]).status === 0
      ? false
      : "no python3 to take datagrams";

async function manager(owner: Owner, name: string) {
  const child = spawn("python3", ["-c", MANAGER, name], { stdio: ["ignore", "pipe", "inherit"] });
  atEnd(owner, async () => void child.kill());
  let told = "";
  child.stdout.on("data", (bytes) => {
    told += String(bytes);
  });
  await eventually("the manager's socket", () => told.startsWith("bound\n"));
  return { told: () => told.split("\n").slice(1, -1) };
}

for (const kind of ["a path", "an abstract name"]) {
  test(`it tells ${kind} that it serves, that it lives, and that it stops`, { skip }, async (t) => {
    const dir = await mkdtemp(join(tmpdir(), "gateway-notify-"));
    atEnd(t, () => rm(dir, { recursive: true, force: true }));
    const name = kind === "a path" ? join(dir, "notify") : `@${dir}`;
    const { told } = await manager(t, name);
    const gateway = await startGateway(t, {
      args: ["-listen", "127.0.0.1:0", "-metrics-listen", "none", "-upstream", "http://127.0.0.1:9"],
      env: { NOTIFY_SOCKET: name, WATCHDOG_USEC: "100000" },
    });
    await eventually("two signs of life", () => told().filter((it) => it === "WATCHDOG=1").length >= 2);
    gateway.signal("SIGTERM");
    assert.equal((await gateway.ended).status, 0);
    assert.equal(told().filter((it) => it === "READY=1").length, 1);
    assert.ok(told().includes("STOPPING=1"));
  });
}

test("a manager that is not there keeps nobody from serving", { skip }, async (t) => {
  const gateway = await startGateway(t, {
    args: ["-listen", "127.0.0.1:0", "-metrics-listen", "none", "-upstream", "http://127.0.0.1:9"],
    env: { NOTIFY_SOCKET: "/nowhere/notify", WATCHDOG_USEC: "100000" },
  });
  const { state, errno } = await gateway.logged("the service manager did not take what it was told");
  // ENOENT.
  assert.deepEqual([state, errno], ["READY=1", 2]);
  gateway.signal("SIGTERM");
  assert.equal((await gateway.ended).status, 0);
});
