"use strict";

/**
 * Run before `npm start` and `npm test`: makes a fresh clone ready, and does nothing to one that is. Installs the
 * dependencies when what is installed is not what package-lock.json says, then builds when dist/ is not of this source. Of
 * several that run at once one does it, and the others wait for it.
 *
 * Uses nothing but Node's own modules, since nothing else may be there yet. Says one line a step, on stderr.
 */

const { spawn } = require("node:child_process");
const { existsSync, readFileSync } = require("node:fs");
const { join, resolve } = require("node:path");

const root = resolve(__dirname, "..");

/** Of a failing step's output; the end says what went wrong. */
const SHOWN_LINES = 40;
const KEPT_LINES = 2_000;

/** Without a line that tells of progress, in milliseconds; a test sets it. */
const STALL_MS = Number(process.env.GATEWAY_SETUP_STALL_MS ?? 60_000);
const KILL_MS = 2_000;
/** What npm writes of each package that it fetches or finds in its cache. */
const PROGRESS = "npm http ";
const FAILED_ATTEMPT = /attempt #?\d+ failed/i;

async function main() {
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
    await step("installing dependencies (npm ci)", installer(), adviceForInstall);
  }
  if (!isBuilt()) {
    const build = [process.execPath, [join(root, "bin", "build.mjs")]];
    await step("building", build, () => "The errors above are in the source.");
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
  const args = ["ci", "--include=dev", "--prefer-offline", "--loglevel=http"];
  const npm = process.env.npm_execpath;
  if (npm !== undefined && /npm-cli\.c?js$/.test(npm)) return [process.execPath, [npm, ...args]];
  return ["npm", args];
}

/** Runs the command, shows what holds it up, and ends it where nothing has come of it for a while. */
async function step(what, [command, args], adviceFor) {
  const startedAt = Date.now();
  process.stderr.write(`setup: ${what} ... `);
  const { how, output } = await run(command, args);
  if (how === undefined) {
    process.stderr.write(`${((Date.now() - startedAt) / 1000).toFixed(1)} s\n`);
    return;
  }
  const shown = output.filter((line) => !line.startsWith(PROGRESS)).slice(-SHOWN_LINES);
  process.stderr.write(`failed (${how})\n${shown.join("\n")}\n`);
  fail(adviceFor(output.join("\n")));
}

/** Resolves with the lines of the output and, where the command did not end well, how it ended. */
function run(command, args) {
  const child = spawn(command, args, {
    cwd: root,
    stdio: ["ignore", "pipe", "pipe"],
    // npm is a script on Windows, which only its shell starts.
    shell: command === "npm" && process.platform === "win32",
  });
  const output = [];
  let hasTold = false;
  let isStalled = false;
  let timer;
  const waitAgain = () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      isStalled = true;
      child.kill("SIGTERM");
      setTimeout(() => child.kill("SIGKILL"), KILL_MS).unref();
    }, STALL_MS);
  };
  const take = (line) => {
    if (line === "") return;
    if (output.push(line) > KEPT_LINES) output.shift();
    // An attempt that failed is made again and again, which is no progress.
    if (!FAILED_ATTEMPT.test(line)) return waitAgain();
    if (hasTold) return;
    hasTold = true;
    process.stderr.write(`\nsetup: ${line.replace(PROGRESS, "").trim()}; trying again ... `);
  };
  for (const stream of [child.stdout, child.stderr]) {
    let rest = "";
    stream.setEncoding("utf8").on("data", (text) => {
      const lines = (rest + text).split(/\r?\n/);
      rest = lines.pop();
      for (const line of lines) take(line);
    });
    stream.on("end", () => take(rest));
  }
  waitAgain();
  return new Promise((resolve) => {
    const done = (how) => {
      clearTimeout(timer);
      resolve({ how, output });
    };
    child.once("error", (error) => done(error.message));
    child.once("close", (status, signal) => {
      if (isStalled) done(`no progress for ${STALL_MS / 1000} s`);
      else done(status === 0 ? undefined : (signal ?? `status ${status}`));
    });
  });
}

/** What to do about an install that failed, by what npm says of it. */
function adviceForInstall(output) {
  const path = /^npm (?:error|ERR!) path (.+)$/m.exec(output)?.[1] ?? "";
  if (/\bENOSPC\b/.test(output))
    return `The disk is full${path === "" ? "" : ` at ${path}`}: free some space, then start again.`;
  if (/\b(EACCES|EROFS|EPERM)\b/.test(output)) {
    if (path.startsWith(root)) return `${root} cannot be written: start it in a copy that you may write to.`;
    return `npm cannot write ${path === "" ? "to its cache" : path}: name a folder that it may use, npm_config_cache=/tmp/npm-cache npm start`;
  }
  if (/\bE(401|403)\b/.test(output))
    return "The package registry refuses the credentials in your .npmrc: sign in with `npm login`.";
  if (/\bEINTEGRITY\b/.test(output))
    return "A package is not what package-lock.json says: `npm cache clean --force`, then start again.";
  const registry = /https?:\/\/[^/\s]+/.exec(output)?.[0] ?? "the package registry";
  return (
    `Is ${registry} reachable from here? Behind a proxy set HTTPS_PROXY; for another registry set npm_config_registry. ` +
    "Without a network install the packed tarball instead (README, Install), or copy node_modules from a machine that has it."
  );
}

function fail(why) {
  process.stderr.write(`setup: ${why}\n`);
  process.exit(1);
}

main().catch((error) => fail(error.stack));
