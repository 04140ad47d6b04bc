/**
 * `npm test`: types, style, then every test. `npm test -- test/base test/cli/flags.test.ts` runs those tests alone,
 * without the checks before them; what begins with a dash goes to Node's test runner.
 *
 * Files run two at a time, and many of them measure waits: when everything runs, a file that failed has a second run by
 * itself. What fails again fails; what passes then is named as unsteady, for somebody to look at.
 *
 * The runner's own summary comes last, and the exit status is not 0 when anything failed.
 */

import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..");

/** Of files at once. Many tests open sockets and measure waits; more would disturb each other on a small machine. */
const CONCURRENCY = 2;

/** A test file that takes longer hangs. */
const FILE_LIMIT_MS = 120_000;

const CHECKS = [
  ["types", ["node_modules/typescript/bin/tsc", "--noEmit"]],
  ["style", ["node_modules/@biomejs/biome/bin/biome", "check", "--error-on-warnings", "."]],
];

/** More than that is no matter of timing. */
const MOST_RUN_AGAIN = 5;

/** Benchmarks are no tests, and data may look like one. */
const SKIPPED = new Set(["bench", "data"]);

function testFiles(path) {
  const absolute = resolve(root, path);
  if (!statSync(absolute).isDirectory()) return [absolute];
  return readdirSync(absolute, { withFileTypes: true })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      if (entry.isDirectory()) return SKIPPED.has(entry.name) ? [] : testFiles(join(absolute, entry.name));
      return /\.test\.tsx?$/.test(entry.name) ? [join(absolute, entry.name)] : [];
    });
}

/** Relative with forward slashes, which every version of the runner reads as a path and not as a pattern. */
function spelled(path) {
  return relative(root, path).split(sep).join("/");
}

/** Node with these arguments, to its end; its output as text when it is not to be seen at once. */
function node(args, { isQuiet = false } = {}) {
  return new Promise((done, failed) => {
    const child = spawn(process.execPath, args, {
      cwd: root,
      stdio: ["ignore", ...Array(2).fill(isQuiet ? "pipe" : "inherit")],
    });
    const output = [];
    child.stdout?.on("data", (bytes) => output.push(bytes));
    child.stderr?.on("data", (bytes) => output.push(bytes));
    child.on("error", failed);
    child.on("close", (status) => done({ status: status ?? 1, output: Buffer.concat(output).toString("utf8") }));
  });
}

async function check([name, args]) {
  const startedAt = performance.now();
  const { status, output } = await node(args, { isQuiet: true });
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  if (status !== 0) process.stdout.write(output);
  process.stdout.write(`${name}: ${status === 0 ? "ok" : "FAILED"} (${seconds} s)\n`);
  return status === 0;
}

const args = process.argv.slice(2);
const paths = args.filter((arg) => !arg.startsWith("-"));
const options = args.filter((arg) => arg.startsWith("-"));

const checks = paths.length === 0 ? await Promise.all(CHECKS.map(check)) : [];

const files = (paths.length === 0 ? ["test"] : paths).flatMap(testFiles).map(spelled);
if (files.length === 0) throw new Error(`no test under ${paths.join(", ")}`);

/** Runs the files, as many at once as told; resolves with those that failed. */
async function run(files, concurrency) {
  const folder = mkdtempSync(join(tmpdir(), "gateway-tests-"));
  const list = join(folder, "failed");
  try {
    const { status } = await node([
      "--import",
      "tsx",
      "--test",
      `--test-concurrency=${concurrency}`,
      `--test-timeout=${FILE_LIMIT_MS}`,
      "--test-reporter=spec",
      "--test-reporter-destination=stdout",
      "--test-reporter=./test/failed-files.mjs",
      `--test-reporter-destination=${list}`,
      ...options,
      ...files,
    ]);
    if (status === 0) return [];
    const named = new Set(readFileSync(list, "utf8").split("\n"));
    const failed = files.filter((file) => named.has(file));
    // Failed, and nobody knows where: all of them did.
    return failed.length > 0 ? failed : files;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

let failing = await run(files, CONCURRENCY);
if (paths.length === 0 && failing.length > 0 && failing.length <= MOST_RUN_AGAIN) {
  process.stdout.write(`\nfailed, and run again by themselves: ${failing.join(", ")}\n\n`);
  const first = failing;
  failing = await run(first, 1);
  const unsteady = first.filter((file) => !failing.includes(file));
  if (unsteady.length > 0) process.stdout.write(`\nunsteady, passed by themselves: ${unsteady.join(", ")}\n`);
}

const failed = checks.flatMap((isOk, index) => (isOk ? [] : [CHECKS[index][0]]));
if (failed.length > 0) process.stdout.write(`failed before the tests: ${failed.join(", ")}\n`);
if (failing.length > 0) process.stdout.write(`failed: ${failing.join(", ")}\n`);
process.exitCode = failed.length > 0 || failing.length > 0 ? 1 : 0;
