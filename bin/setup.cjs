"use strict";

/**
 * Prepares a fresh clone before `npm start` (`setup.cjs start`) and `npm test`; does nothing if it is ready. Installs
 * the packages if node_modules differs from package-lock.json, then builds if dist/ is older than the source. A start
 * needs only the packages for the build; those for tests, over half of all bytes, are installed before the first test.
 * If several setups run at once, one does the work and the others wait.
 *
 * Uses only Node's own modules, since nothing else may be installed yet. Prints one line per step on stderr, and in a
 * terminal also the number of fetched packages.
 */

const { spawn } = require("node:child_process");
const { join, resolve } = require("node:path");
const { missingPackages } = require("./packages.cjs");

const root = resolve(__dirname, "..");

/**
 * Maximum number of lines of a failed step's output that are shown, and that are kept; the last ones show what went
 * wrong.
 */
const SHOWN_LINES = 40;
const KEPT_LINES = 2_000;

/** Maximum time of an install without any output, in milliseconds; tests set it. */
const STALL_MS = Number(process.env.GATEWAY_SETUP_STALL_MS ?? 60_000);
/** Maximum time of a build, in milliseconds. It needs no network and prints nothing until it ends. */
const BUILD_LIMIT_MS = 15 * 60_000;
const KILL_MS = 2_000;
/** Prefix of the line that npm writes for each package that it fetches or finds in its cache. */
const PROGRESS = "npm http ";
const FAILED_ATTEMPT = /attempt #?\d+ failed/i;
/** Matches npm's line for a package tarball, fetched from the registry or found in the cache. */
const FETCHED_PACKAGE = /^npm http (?:fetch GET 200|cache) .*\/-\/[^/]+\.tgz/;

/** Set of packages to install; see packages.cjs. */
const SET = process.argv[2] === "start" ? "build" : "all";

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
  const missing = missingPackages(root, SET).length;
  if (missing > 0) {
    const what = `installing ${SET === "build" ? "the packages that the program needs" : "all packages"} (npm ci)`;
    await step(what, installer(), { stallMs: STALL_MS, adviceFor: adviceForInstall, total: missing });
  }
  if (!isBuilt()) {
    const build = [process.execPath, [join(root, "bin", "build.mjs")]];
    await step("building", build, { stallMs: BUILD_LIMIT_MS, adviceFor: adviceForBuild });
  }
}

/**
 * Returns whether the build is up to date. stamp.cjs is loaded here and not at the top, since an install may be all
 * that is needed.
 */
const isBuilt = () => require("./stamp.cjs").isFresh(root);

const isInstalled = () => missingPackages(root, SET).length === 0;

/**
 * Returns the command line of an install with the npm that runs this script, which may not be the first one in PATH.
 * Includes development dependencies, which the build needs and NODE_ENV=production omits.
 */
function installer() {
  const only = SET === "build" ? ["--workspaces=false"] : [];
  const args = ["ci", "--include=dev", ...only, "--prefer-offline", "--loglevel=http"];
  const npm = process.env.npm_execpath;
  if (npm !== undefined && /npm-cli\.c?js$/.test(npm)) return [process.execPath, [npm, ...args]];
  return ["npm", args];
}

/**
 * Runs the command and shows failed attempts. Stops the command after `stallMs` without progress. `total`: number of
 * packages that it fetches, for the progress.
 */
async function step(what, [command, args], { stallMs, adviceFor, total }) {
  const startedAt = Date.now();
  const text = `setup: ${what} ... `;
  process.stderr.write(text);
  const isCounted = total !== undefined && process.stderr.isTTY === true;
  const { how, isStalled, output } = await run(
    command,
    args,
    stallMs,
    isCounted ? counter(text, total) : () => undefined,
  );
  if (isCounted) process.stderr.write(`\r${ERASE_LINE}${text}`);
  if (how === undefined) {
    process.stderr.write(`${((Date.now() - startedAt) / 1000).toFixed(1)} s\n`);
    return;
  }
  const shown = output.filter((line) => !line.startsWith(PROGRESS)).slice(-SHOWN_LINES);
  process.stderr.write(`failed (${how})\n${shown.join("\n")}\n`);
  fail(adviceFor(output.join("\n"), isStalled));
}

const ERASE_LINE = "\u001b[K";

/** Returns a function that takes output lines and shows the number of fetched packages after the text. */
function counter(text, total) {
  let fetched = 0;
  let written = 0;
  return (line) => {
    if (!FETCHED_PACKAGE.test(line)) return;
    fetched += 1;
    // Updating ten times a second is fast enough, and does not slow npm down.
    if (Date.now() - written < 100) return;
    written = Date.now();
    process.stderr.write(`\r${ERASE_LINE}${text}${Math.min(fetched, total)} of ${total} `);
  };
}

/** Runs the command. Returns its output lines and, if it failed, the reason. */
function run(command, args, stallMs, count) {
  const child = spawn(command, args, {
    cwd: root,
    stdio: ["ignore", "pipe", "pipe"],
    // On Windows npm is a script, which can only be started through the shell.
    shell: command === "npm" && process.platform === "win32",
  });
  const output = [];
  let hasReported = false;
  let isStalled = false;
  let timer;
  const waitAgain = () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      isStalled = true;
      child.kill("SIGTERM");
      setTimeout(() => child.kill("SIGKILL"), KILL_MS).unref();
    }, stallMs);
  };
  const take = (line) => {
    if (line === "") return;
    count(line);
    if (output.push(line) > KEPT_LINES) output.shift();
    // A repeated attempt does not count as progress.
    if (!FAILED_ATTEMPT.test(line)) return waitAgain();
    if (hasReported) return;
    hasReported = true;
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
      resolve({ how, isStalled, output });
    };
    child.once("error", (error) => done(error.message));
    child.once("close", (status, signal) => {
      if (isStalled) done(`no progress for ${stallMs / 1000} s`);
      else done(status === 0 ? undefined : (signal ?? `status ${status}`));
    });
  });
}

const adviceForBuild = (_, isStalled) =>
  isStalled
    ? "The build takes a few seconds on an idle machine. Start again when this one has less to do."
    : "The errors above are in the source.";

/** Returns advice about a failed install, based on npm's output. */
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
