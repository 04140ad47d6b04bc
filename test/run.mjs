/**
 * `npm test`: types, style, then every test. `npm test -- test/base test/cli/flags.test.ts` runs those tests alone,
 * without the checks before them; what begins with a dash goes to Node's test runner.
 *
 * The runner's own summary comes last, and the exit status is not 0 when anything failed.
 */

import { spawn } from "node:child_process";
import { readdirSync, statSync } from "node:fs";
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

const { status } = await node([
  "--import",
  "tsx",
  "--test",
  `--test-concurrency=${CONCURRENCY}`,
  `--test-timeout=${FILE_LIMIT_MS}`,
  "--test-reporter=spec",
  ...options,
  ...files,
]);

const failed = checks.flatMap((isOk, index) => (isOk ? [] : [CHECKS[index][0]]));
if (failed.length > 0) process.stdout.write(`failed before the tests: ${failed.join(", ")}\n`);
process.exitCode = failed.length > 0 ? 1 : status;
