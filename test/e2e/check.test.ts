/**
 * `gateway check` as a process: its exit statuses, and what stops it. Its output is tested in
 * test/cli/verbs/check.test.ts.
 */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, writeFile } from "node:fs/promises";
import { createServer as createHttpServer } from "node:http";
import { createServer } from "node:net";
import { dirname, join, resolve } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { type Document, type Files, writeFiles } from "./support/config.ts";
import { runProgram } from "./support/gateway.ts";
import { startOidc } from "./support/oidc.ts";
import { listenLocally } from "./support/ports.ts";
import { atEnd, eventually, type Owner, within } from "./support/wait.ts";

/** Start of a process on a busy machine. */
const SLOW_MS = 30_000;
const LAUNCHER = join(resolve(dirname(fileURLToPath(import.meta.url)), "../.."), "bin/gateway");

const node = (issuer: string): Document => ({
  issuers: [{ name: "corp", url: issuer }],
  admin: {
    local_socket: "admin.sock",
    listen: "127.0.0.1:0",
    policy_file: "admin.cedar",
    issuers: [{ issuer: "corp", audience: "gateway-admin" }],
  },
  audit: { dir: "trail" },
});

async function filesFor(owner: Owner, issuer: string): Promise<Files> {
  const files = await writeFiles(owner, {}, node(issuer));
  await writeFile(join(files.dir, "admin.cedar"), 'permit(principal in Role::"local", action, resource);\n');
  return files;
}

async function check(owner: Owner, files: Files, ...flags: readonly string[]) {
  const program = runProgram(owner, { args: ["check", "-config", files.nodePath, ...flags] });
  const { status } = await within("the end of check", program.ended, SLOW_MS);
  return { status, stdout: program.stdout(), stderr: program.stderr() };
}

/** Accepts connections and never answers. */
async function startSilent(owner: Owner): Promise<{ readonly url: string; connections(): number }> {
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    socket.on("error", () => undefined);
    atEnd(owner, () => socket.destroy());
  });
  const url = `http://127.0.0.1:${await listenLocally(server)}`;
  atEnd(owner, () => server.close());
  return { url, connections: () => connections };
}

test("the exit status is 0 when everything answers, 1 when an issuer does not, and 2 for an invalid command line", async (t) => {
  const provider = await startOidc(t);
  const files = await filesFor(t, provider.issuer);
  const valid = await check(t, files);
  assert.deepEqual([valid.status, valid.stderr], [0, ""], valid.stdout);
  assert.match(valid.stdout, /^ok {4}issuer corp: .* has 1 key$/m);
  assert.match(valid.stdout, /^ok {4}library koffi: /m);

  const silent = await startSilent(t);
  await files.writeNode(node(silent.url));
  const late = await check(t, files, "-timeout", "100ms");
  assert.deepEqual([late.status, late.stderr], [1, ""], late.stdout);
  assert.match(late.stdout, /^fail {2}issuer corp: discovery: .*no answer within 100/m);

  const before = silent.connections();
  assert.equal((await check(t, files, "-offline")).status, 0);
  assert.equal(silent.connections(), before);

  const usage = await check(t, files, "extra");
  assert.deepEqual([usage.status, usage.stdout], [2, ""]);
  assert.match(usage.stderr, /^gateway check: takes no arguments\n/);
  assert.deepEqual((await readdir(files.dir)).sort(), ["admin.cedar", "deployment.yaml", "node.yaml"]);
});

test("an interrupt ends a waiting check silently with status 130", async (t) => {
  const silent = await startSilent(t);
  const files = await filesFor(t, silent.url);
  const program = runProgram(t, { args: ["check", "-config", files.nodePath, "-timeout", "1m"] });
  await eventually("the question to the issuer", () => silent.connections() > 0, SLOW_MS);
  program.signal("SIGINT");
  const { status } = await within("the end of check", program.ended, SLOW_MS);
  assert.equal(status, 130);
  assert.equal(program.stderr(), "");
  assert.doesNotMatch(program.stdout(), /issuer corp/);
});

test("a closed output pipe ends a waiting check, which is not reported as passed", async (t) => {
  const silent = await startSilent(t);
  let isAsked = false;
  const provider = createHttpServer(() => {
    isAsked = true;
  });
  const url = `http://127.0.0.1:${await listenLocally(provider)}/v1`;
  atEnd(t, () => {
    provider.closeAllConnections();
    provider.close();
  });
  const files = await filesFor(t, silent.url);
  await files.writeDeployment({ providers: [{ preset: "openai", name: "one", base_url: url, models: ["*"] }] });
  // The timeout for the issuer is longer than this test's.
  const child = spawn(process.execPath, [LAUNCHER, "check", "-config", files.nodePath, "-timeout", "2m"], {
    env: { PATH: process.env["PATH"] },
    stdio: ["ignore", "pipe", "pipe"],
  });
  atEnd(t, () => child.kill("SIGKILL"));
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  const closed = once(child, "close");
  await within("its first line", once(child.stdout, "data"), SLOW_MS);
  await eventually("both questions", () => silent.connections() > 0 && isAsked, SLOW_MS);
  child.stdout.destroy();
  const [status, signal] = await within("the end of check", closed, SLOW_MS);
  assert.deepEqual([status, signal], [null, "SIGPIPE"]);
  assert.equal(stderr, "");
});
