/** Processes that the runner kills: none that they have started is left. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { test } from "node:test";

const RUNNER = new URL("./processes.mjs", import.meta.url).href;

/** Starts another process, and both run until they are killed. The other one connects to the given port. */
const program = (port: number): string => `
  const connect = "require('node:net').connect(${port}, '127.0.0.1')";
  require("node:child_process").spawn(process.execPath, ["-e", connect], { stdio: "ignore" });
  setInterval(() => undefined, 1_000);
`;

const runner = (port: number, limitMs: number): string => `
  import { runNode } from ${JSON.stringify(RUNNER)};
  process.once("SIGTERM", () => process.exit(1));
  const { status, output } = await runNode(["-e", ${JSON.stringify(program(port))}], {
    cwd: process.cwd(), env: process.env, limitMs: ${limitMs},
  });
  console.log(status, output.trim());
`;

/** Runs the runner, calls \`whenStarted\` once the inner process is connected, and waits until that process is gone. */
async function run(limitMs: number, whenStarted?: (runnerPid: number) => void): Promise<string> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  assert.ok(address !== null && typeof address === "object");
  const args = ["--input-type=module", "-e", runner(address.port, limitMs)];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  let output = "";
  child.stdout.on("data", (bytes: Buffer) => {
    output += bytes.toString();
  });
  const ended = once(child, "close");
  const [socket] = await once(server, "connection");
  socket.on("error", () => undefined); // a killed process may reset its connection
  socket.resume();
  const closed = once(socket, "close");
  whenStarted?.(child.pid ?? 0);
  await closed;
  await ended;
  server.close();
  return output.trim();
}

test("a process that has reached its time limit is killed together with the processes it has started", async () => {
  assert.equal(await run(10_000), "1 killed: it has taken 10 s");
});

test("an interrupted runner leaves no process behind", async () => {
  await run(240_000, (pid) => process.kill(pid, "SIGTERM"));
});
