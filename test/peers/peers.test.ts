// tier: long
/** Finding and installing peers, with recipes that need no network; and the peers of the table run. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { eventually } from "../e2e/support/wait.ts";
import { findOrInstall, peer } from "./peer.ts";
import type { Recipe } from "./recipes.ts";

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), "../..");
const run = promisify(execFile);

async function cacheOf(t: TestContext): Promise<string> {
  const cache = await mkdtemp(join(tmpdir(), "gateway-peers-"));
  t.after(() => rm(cache, { recursive: true, force: true }));
  return cache;
}

const sh = (script: string): Recipe => ({ file: "it", steps: [["sh", "-c", script]] });

const INSTALLS = "echo once >> ../installs; echo 'echo hello' > it; chmod +x it";

test("a peer is installed once for all concurrent requests, and then found", async (t) => {
  const cache = await cacheOf(t);
  const all = await Promise.all([1, 2, 3, 4].map(() => findOrInstall("it", sh(INSTALLS), { cache })));
  const paths = new Set(all.map(({ path }) => path));
  assert.equal(paths.size, 1);
  const again = await findOrInstall("it", sh(INSTALLS), { cache });
  assert.equal(again.missing, false);
  assert.equal((await run("sh", [again.path])).stdout, "hello\n");
  assert.equal(await readFile(join(cache, "installs"), "utf8"), "once\n");
});

test("another pinned version has another directory", async (t) => {
  const cache = await cacheOf(t);
  const one = await findOrInstall("it", sh(INSTALLS), { cache });
  const two = await findOrInstall("it", sh(`true; ${INSTALLS}`), { cache });
  assert.notEqual(one.path, two.path);
});

test("a peer that no longer runs is reinstalled", async (t) => {
  const cache = await cacheOf(t);
  const { path } = await findOrInstall("it", sh(INSTALLS), { cache });
  await rm(path);
  assert.equal((await findOrInstall("it", sh(INSTALLS), { cache })).path, path);
  assert.equal(await readFile(join(cache, "installs"), "utf8"), "once\nonce\n");
});

test("a failed install gives the reason, leaves nothing, and is not retried at once", async (t) => {
  const cache = await cacheOf(t);
  const failing = sh("echo once >> ../installs; echo no such package >&2; exit 3");
  const { missing } = await findOrInstall("it", failing, { cache });
  assert.equal(missing, "no it: sh ended with 3: no such package");
  const again = await findOrInstall("it", failing, { cache });
  assert.match(
    String(again.missing),
    /^no it: sh ended with 3: no such package \(tried again later; remove .*\.failed\)$/,
  );
  assert.throws(() => again.path, { message: again.missing });
  assert.equal(await readFile(join(cache, "installs"), "utf8"), "once\n");
  assert.deepEqual(
    (await readdir(cache)).filter((name) => !name.endsWith(".failed")),
    ["installs"],
  );
});

test("peers that take minutes are installed only on request, and found by everybody", async (t) => {
  const cache = await cacheOf(t);
  const slow: Recipe = { ...sh(INSTALLS), takesMinutes: true };
  assert.equal(
    (await findOrInstall("it", slow, { cache })).missing,
    "no it: it takes minutes to install: `npm run peers`",
  );
  assert.equal((await findOrInstall("it", slow, { cache, isPatient: true })).missing, false);
  assert.equal((await findOrInstall("it", slow, { cache })).missing, false);
});

test("an install has a timeout, and its child processes end with it", async (t) => {
  const cache = await cacheOf(t);
  const endless = sh("sh -c 'echo $$ > ../child; exec sleep 600' & wait");
  const { missing } = await findOrInstall("it", endless, { cache, limitMs: 700 });
  assert.equal(missing, "no it: sh had no more time");
  const child = Number(await readFile(join(cache, "child"), "utf8"));
  await eventually("the end of the child", async () => {
    const state = await readFile(`/proc/${child}/stat`, "utf8").catch(() => "");
    return state === "" || / Z /.test(state);
  });
});

test("a wait for another process's install has a timeout too, and a dead process holds nothing", async (t) => {
  const cache = await cacheOf(t);
  const { path } = await findOrInstall("it", sh(INSTALLS), { cache });
  await rm(path);
  const lock = `${dirname(path)}.lock`;
  await writeFile(lock, String(process.pid));
  const waiting = await findOrInstall("it", sh(INSTALLS), { cache, limitMs: 500 });
  assert.equal(waiting.missing, "no it: another process installs it, and has not ended in time");
  const { stdout: died } = await run("sh", ["-c", "echo $$"]);
  await writeFile(lock, died);
  assert.equal((await findOrInstall("it", sh(INSTALLS), { cache })).path, path);
});

test("`none` as the cache path disables peers", async () => {
  const { missing } = await findOrInstall("it", sh(INSTALLS), { cache: "none" });
  assert.equal(missing, "no it: GATEWAY_TEST_PEERS is none");
});

// In parallel, so that the limits of several installations do not add up.
const [node22, node24, pebble] = await Promise.all([peer("node-22"), peer("node-24"), peer("pebble")]);

for (const [name, node, major] of [
  ["node-22", node22, "v22."],
  ["node-24", node24, "v24."],
] as const) {
  test(`${name} runs the program`, { skip: node.missing }, async () => {
    assert.ok((await run(node.path, ["--version"])).stdout.startsWith(major));
    const { stdout } = await run(node.path, [join(ROOT, "bin/gateway"), "version"]);
    assert.match(stdout, new RegExp(`^gateway .* on node ${major.slice(1)}`));
  });
}

test("pebble runs", { skip: pebble.missing }, async () => {
  const { stderr } = await run(pebble.path, ["-help"]);
  assert.match(stderr, /-config/);
});
