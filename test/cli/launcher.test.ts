/** The launcher and the process around the verbs, as a shell sees them. Needs a build, which `npm test` makes. */

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { type TestContext, test } from "node:test";

const bin = resolve("bin/gateway");
const skip = existsSync("dist/cli/main.js") ? false : "not built";

function gateway(args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  return spawnSync(process.execPath, [bin, ...args], { encoding: "utf8", env: { ...process.env, ...env } });
}

/** A folder with the launcher and `code` as its program, removed after the test. Its name contains a space. */
function launcherWith(t: TestContext, code: string | undefined): string {
  const dir = mkdtempSync(join(tmpdir(), "gateway launcher "));
  t.after(() => rmSync(dir, { recursive: true }));
  mkdirSync(join(dir, "bin"));
  cpSync(bin, join(dir, "bin", "gateway"));
  writeFileSync(join(dir, "bin", "package.json"), '{ "type": "commonjs" }');
  writeFileSync(join(dir, "package.json"), '{ "type": "module" }');
  if (code !== undefined) {
    mkdirSync(join(dir, "dist", "cli"), { recursive: true });
    writeFileSync(join(dir, "dist", "cli", "main.js"), code);
  }
  return join(dir, "bin", "gateway");
}

test("the version line of a build has its commit and date, or says that there is none", { skip }, () => {
  const { status, stdout, stderr } = gateway(["version"]);
  assert.equal(stderr, "");
  assert.match(
    stdout,
    /^gateway \d+\.\d+\.\d+, commit (?:[0-9a-f]{12}(?:-dirty)?, \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ|unknown, unknown), esbuild [\d.]+ on node [\d.]+, \w+\/\w+, feature levels 1 to \d+\n$/,
  );
  assert.equal(status, 0);
});

test("a usage error exits with status 2", { skip }, () => {
  const { status, stdout } = gateway(["chekc"]);
  assert.equal(stdout, "");
  assert.equal(status, 2);
});

test("a folder that was deleted is named as the cause, without a stack", { skip }, () => {
  const folder = mkdtempSync(join(tmpdir(), "gateway-gone-"));
  const script = 'cd "$1" && rmdir "$1" && exec "$2" "$3" version';
  const { status, stderr } = spawnSync("sh", ["-c", script, "sh", folder, process.execPath, bin], { encoding: "utf8" });
  assert.equal(stderr, "gateway: the current folder no longer exists: change to another one\n");
  assert.equal(status, 1);
});

test("a closed output pipe prints no error", { skip }, async () => {
  const child = spawn(process.execPath, [bin, "help"], { stdio: ["ignore", "pipe", "pipe"] });
  child.stdout.destroy();
  let text = "";
  child.stderr.on("data", (bytes) => {
    text += String(bytes);
  });
  const [status, signal] = await once(child, "close");
  assert.equal(text, "");
  assert.deepEqual([status, signal], [null, "SIGPIPE"]);
});

const PRINT_THREADS = "export const main = async () => { process.stdout.write(process.env.UV_THREADPOOL_SIZE); };";

test("the thread pool has at least 16 threads, and more if requested", (t) => {
  const launcher = launcherWith(t, PRINT_THREADS);
  const threads = (asked: string | undefined) => {
    const env = { ...process.env, UV_THREADPOOL_SIZE: asked };
    return spawnSync(process.execPath, [launcher], { encoding: "utf8", env }).stdout;
  };
  assert.equal(threads(undefined), "16");
  assert.equal(threads("4"), "16");
  assert.equal(threads("many"), "16");
  assert.equal(threads("64"), "64");
});

test("the launcher works through a link and passes the arguments unchanged", (t) => {
  const launcher = launcherWith(
    t,
    "export const main = async (args) => { process.stdout.write(JSON.stringify(args)); };",
  );
  const link = `${launcher}-link`;
  symlinkSync(launcher, link);
  const { stdout } = spawnSync(process.execPath, [link, "-x", "a b", ""], { encoding: "utf8" });
  assert.equal(stdout, '["-x","a b",""]');
});

test("without a build the launcher says how to get one", (t) => {
  const { status, stderr } = spawnSync(process.execPath, [launcherWith(t, undefined)], { encoding: "utf8" });
  assert.match(stderr, /^gateway: is not built: run `npm run build` in .+\n$/);
  assert.equal(status, 1);
});

test("a program that cannot be loaded is an error with its cause", (t) => {
  const launcher = launcherWith(t, 'import "./absent.js";');
  const { status, stderr } = spawnSync(process.execPath, [launcher], { encoding: "utf8" });
  assert.match(stderr, /^gateway: did not start: .*absent\.js/);
  assert.equal(status, 1);
});

test("an old Node is refused with the version that package.json requires", (t) => {
  const launcher = launcherWith(t, PRINT_THREADS);
  const old = join(launcher, "..", "old.cjs");
  writeFileSync(old, 'Object.defineProperty(process, "versions", { value: { node: "20.18.3" } });');
  const { status, stderr } = spawnSync(process.execPath, ["-r", old, launcher], { encoding: "utf8" });
  const { engines } = JSON.parse(readFileSync("package.json", "utf8"));
  const [, needed = ""] = /^gateway: needs Node\.js ([\d.]+) or later, and this is v[\d.]+\n$/.exec(stderr) ?? [];
  assert.equal(engines.node, `>=${needed}.0`);
  assert.equal(status, 1);
});
