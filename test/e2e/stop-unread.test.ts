/** Stops of a gateway whose log is not read: each ends in time, and a second signal ends it at once. */
import assert from "node:assert/strict";
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { closeSync, constants, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { spawn as openPty } from "@lydell/node-pty";
import { writeFiles } from "./support/config.ts";
import { programFile } from "./support/gateway.ts";
import { freePort } from "./support/ports.ts";
import { post, rawClient } from "./support/raw.ts";
import { scriptedUpstream } from "./support/upstream.ts";
import { atEnd, eventually, type Owner, within } from "./support/wait.ts";

const PROGRAM = programFile();
const DRAIN_MS = 100;
/** Time beyond the drain; the rest is for a machine that runs other tests. */
const BEYOND_MS = 2_000 + 4_000;

interface Running {
  readonly pid: number;
  readonly ended: Promise<number | null>;
}

type Start = (t: Owner, args: readonly string[], env: NodeJS.ProcessEnv, dir: string) => Running;

const running = (t: Owner, child: ChildProcess): Running => {
  const ended = new Promise<number | null>((done) => child.once("exit", (status) => done(status)));
  atEnd(t, () => void child.kill("SIGKILL"));
  return { pid: child.pid ?? -1, ended };
};

/** Returns a full pipe without a reader. */
function fullPipe(t: Owner, dir: string): number {
  const path = join(dir, "log");
  execFileSync("mkfifo", [path]);
  const both = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  assert.throws(() => {
    for (;;) writeSync(both, Buffer.alloc(4_096));
  }, /EAGAIN/);
  const fd = openSync(path, constants.O_WRONLY);
  atEnd(t, () => {
    closeSync(both);
    closeSync(fd);
  });
  return fd;
}

const pipe: Start = (t, args, env, dir) => {
  const fd = fullPipe(t, dir);
  return running(t, spawn(process.execPath, [PROGRAM, ...args], { env, stdio: ["ignore", fd, fd] }));
};

/** A socket as a service manager gives it: another process that shares it fills it, and nothing reads it. */
const socket: Start = (t, args, env) => {
  const fill = "head -c 4000000 /dev/zero >&2 & sleep 0.2; exec";
  const command = `${fill} "$0" "$@"`;
  const child = spawn("sh", ["-c", command, process.execPath, PROGRAM, ...args], {
    env,
    stdio: ["ignore", "ignore", "pipe"],
  });
  child.stderr?.pause();
  return running(t, child);
};

/** A terminal stopped as by Ctrl-S. */
const terminal: Start = (t, args, env) => {
  const pty = openPty(process.execPath, [PROGRAM, ...args], { env });
  const ended = new Promise<number | null>((done) => pty.onExit(({ exitCode }) => done(exitCode)));
  pty.write("\u0013");
  atEnd(t, () => pty.kill("SIGKILL"));
  return { pid: pty.pid, ended };
};

const fullDisk: Start = (t, args, env) => {
  const fd = openSync("/dev/full", constants.O_WRONLY);
  atEnd(t, () => closeSync(fd));
  return running(t, spawn(process.execPath, [PROGRAM, ...args], { env, stdio: ["ignore", fd, fd] }));
};

/** A gateway in flag mode, or with this many workers. */
type Mode = "flags" | "1" | "2";

interface Row {
  readonly what: string;
  readonly start: Start;
  readonly mode: Mode;
  readonly signals: 1 | 2;
}

const ROWS: readonly Row[] = [
  { what: "a full pipe", start: pipe, mode: "flags", signals: 1 },
  { what: "a full pipe", start: pipe, mode: "1", signals: 1 },
  { what: "a full pipe", start: pipe, mode: "2", signals: 1 },
  { what: "a full pipe", start: pipe, mode: "2", signals: 2 },
  { what: "a full socket", start: socket, mode: "2", signals: 1 },
  { what: "a stopped terminal", start: terminal, mode: "2", signals: 1 },
  { what: "a stopped terminal", start: terminal, mode: "flags", signals: 2 },
  { what: "a full disk", start: fullDisk, mode: "2", signals: 1 },
];

const statusOf = async (metrics: number): Promise<number | undefined> =>
  (await fetch(`http://127.0.0.1:${metrics}/readyz`).catch(() => undefined))?.status;

async function stops(t: Owner, { start, mode, signals }: Row): Promise<void> {
  const upstream = await scriptedUpstream(t, () => undefined);
  const [port, metrics] = [await freePort(), await freePort()];
  const listeners = { listen: `127.0.0.1:${port}`, metrics_listen: `127.0.0.1:${metrics}` };
  const deployment = {
    providers: [{ name: "only", dialect: "compat", base_url: `${upstream.url}/v1` }],
    default_provider: "only",
    // The rule is recorded, so that the audit trail has unread output.
    access_rules: [{ name: "any", at: ["llm"], condition: "true", action: "allow" }],
  };
  const files = await writeFiles(t, deployment, listeners);
  const flags = ["-listen", listeners.listen, "-metrics-listen", listeners.metrics_listen, "-upstream", upstream.url];
  const args = mode === "flags" ? flags : ["-config", files.nodePath];
  // A second signal does not wait for the drain.
  const drain = signals === 1 ? `${DRAIN_MS}ms` : "1h";
  const { PATH } = process.env;
  const env = { PATH, GATEWAY_DRAIN: drain, ...(mode !== "flags" && { GATEWAY_WORKERS: mode }) };
  const gateway = start(t, args, env, files.dir);
  await eventually("a gateway that is ready", async () => (await statusOf(metrics)) === 200);
  const client = await rawClient(t, port);
  const reached = new Promise<void>((done) => {
    upstream.script = () => done();
  });
  client.send(post("/v1/chat/completions", '{"model":"held"}'));
  await within("the request upstream", reached);
  process.kill(gateway.pid, "SIGTERM");
  if (signals === 2) {
    await eventually("the beginning of the stop", async () => (await statusOf(metrics)) === 503);
    process.kill(gateway.pid, "SIGTERM");
  }
  const limit = signals === 1 ? DRAIN_MS + BEYOND_MS : BEYOND_MS;
  assert.equal(await within("the end", gateway.ended, limit), signals === 1 ? 0 : 130);
}

describe("a stop ends although its log output is blocked", { concurrency: 2 }, () => {
  for (const row of ROWS) {
    const how = row.mode === "flags" ? "flags alone" : `workers: ${row.mode}`;
    test(`${row.what} (${how}, signals: ${row.signals})`, (t) => stops(t, row));
  }
});
