"use strict";

/**
 * Run before `npm start` and `npm test`: makes a fresh clone ready, and does nothing to one that is. Installs the
 * dependencies when what is installed is not what package-lock.json says, then builds when dist/ is not of this source. Of
 * several that run at once one does it, and the others wait for it.
 *
 * Uses nothing but Node's own modules, since nothing else may be there yet. Says one line a step, on stderr.
 */

const { spawnSync } = require("node:child_process");
const { existsSync, readFileSync } = require("node:fs");
const { join, resolve } = require("node:path");

const root = resolve(__dirname, "..");

/** Of a failing step's output; the end says what went wrong. */
const SHOWN_LINES = 40;

function main() {
  const [major, minor] = process.versions.node.split(".").map(Number);
  if (major < 20 || (major === 20 && minor < 19)) {
    fail(`Node.js 20.19 or later is needed, and this is ${process.version}`);
  }
  if (isInstalled() && isBuilt()) return;
  const letGo = require("./lock.cjs").take(join(root, ".setup.lock"), (holder) => {
    process.stderr.write(`setup: waiting for the one that runs already (process ${holder})\n`);
  });
  process.on("exit", letGo);
  if (!isInstalled()) {
    step("installing dependencies (npm ci)", installer(), "Is the package registry reachable? Try `npm ci` by hand.");
  }
  if (!isBuilt()) {
    step("building", [process.execPath, [join(root, "bin", "build.mjs")]], "The errors above are in the source.");
  }
}

/** Required here and not above: an install may be all that is needed. */
const isBuilt = () => require("./stamp.cjs").isFresh(root);

/**
 * Compares with the list that npm keeps of what it has put into node_modules. An optional package may be absent (it is
 * for another platform, or did not build); any other must be there in the locked version.
 */
function isInstalled() {
  const installedPath = join(root, "node_modules", ".package-lock.json");
  if (!existsSync(installedPath)) return false;
  const installed = readPackages(installedPath);
  const locked = readPackages(join(root, "package-lock.json"));
  return Object.entries(locked).every(([path, { version, optional }]) => {
    if (path === "") return true;
    const found = installed[path];
    return found === undefined ? optional === true : found.version === version && existsSync(join(root, path));
  });
}

function readPackages(path) {
  try {
    return JSON.parse(readFileSync(path, "utf8")).packages ?? {};
  } catch (error) {
    return fail(`${path} cannot be read: ${error.message}`);
  }
}

/**
 * The npm that runs us, where one does: it need not be the first of the path. Development dependencies are asked for by
 * name, since NODE_ENV=production leaves them out and the build is one of them.
 */
function installer() {
  const args = ["ci", "--include=dev", "--prefer-offline", "--loglevel=error"];
  const npm = process.env.npm_execpath;
  if (npm !== undefined && /npm-cli\.c?js$/.test(npm)) return [process.execPath, [npm, ...args]];
  return ["npm", args];
}

function step(what, [command, args], advice) {
  const startedAt = Date.now();
  process.stderr.write(`setup: ${what} ... `);
  const { status, signal, error, stdout, stderr } = spawnSync(command, args, {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 64 << 20,
    // npm is a script on Windows, which only its shell starts.
    shell: command === "npm" && process.platform === "win32",
  });
  if (status === 0) {
    process.stderr.write(`${((Date.now() - startedAt) / 1000).toFixed(1)} s\n`);
    return;
  }
  const output = `${stdout ?? ""}${stderr ?? ""}`.trimEnd().split("\n").slice(-SHOWN_LINES).join("\n");
  const how = error === undefined ? (signal ?? `status ${status}`) : error.message;
  process.stderr.write(`failed (${how})\n${output}\n`);
  fail(advice);
}

function fail(why) {
  process.stderr.write(`setup: ${why}\n`);
  process.exit(1);
}

main();
