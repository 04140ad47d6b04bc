/**
 * `npm test`: types, style, then every test. `npm test -- test/base test/cli/flags.test.ts` runs those tests alone,
 * without the checks before them, and shows each. `--quick` runs the pure parts. `--keep-times` writes what each took into
 * test/runner/times.json, by which the next run is scheduled. Any other option goes to Node's test runner.
 *
 * Files are bundled first (test/runner/bundle.mjs), those of pure folders share processes (jobs.mjs), and as many processes
 * run at once as the machine has cores for (schedule.mjs). Many tests measure waits: when everything runs, what failed has
 * a second run by itself. What fails again fails; what passes then is named as unsteady, for somebody to look at.
 *
 * What each took is in node_modules/.cache/gateway/test-times.json after every run: seconds, and seconds of all cores. The
 * summary comes last, and the exit status is not 0 when anything failed.
 */

import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { bundle } from "./runner/bundle.mjs";
import { isPure, jobsOf, testFiles } from "./runner/jobs.mjs";
import { runAll, UNKNOWN } from "./runner/schedule.mjs";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const cache = join(root, "node_modules/.cache/gateway");
const TIMES = join(root, "test/runner/times.json");

/** A test that takes longer hangs; and so does a process. */
const TEST_LIMIT_MS = 240_000;
const JOB_LIMIT_MS = 480_000;
/** Every older build in every order is eighteen upgrades of a cluster, in one file. */
const LONG_JOB_LIMIT_MS = 3_600_000;

const CHECKS = [
  ["types", ["node_modules/typescript/bin/tsc", "--noEmit"]],
  ["style", ["node_modules/@biomejs/biome/bin/biome", "check", "--error-on-warnings", "."]],
];

/** More than that is no matter of timing. */
const MOST_RUN_AGAIN = 10;

/** A pure file that takes longer does not wait for others in their process. */
const LONG_SECONDS = 5;

/** What took less is not worth a line in what is kept. */
const LEAST_KEPT_SECONDS = 1;

const SHOWN_SLOWEST = 15;

const args = process.argv.slice(2);
const paths = args.filter((arg) => !arg.startsWith("-"));
const own = new Set(["--quick", "--keep-times"]);
const options = args.filter((arg) => arg.startsWith("-") && !own.has(arg));
const isQuick = args.includes("--quick");
const isWhole = paths.length === 0 && !isQuick;

const jobLimitMs = process.env.GATEWAY_VERSIONS === "all" ? LONG_JOB_LIMIT_MS : JOB_LIMIT_MS;

/** Node with these arguments, to its end, with its output as text; a status of 1 where it was killed. */
function node(args, limitMs = jobLimitMs) {
  return new Promise((done, failed) => {
    const child = spawn(process.execPath, args, { cwd: root, stdio: ["ignore", "pipe", "pipe"] });
    const output = [];
    const timer = setTimeout(() => {
      output.push(Buffer.from(`killed: it has taken ${limitMs / 1000} s\n`));
      child.kill("SIGKILL");
    }, limitMs);
    child.stdout.on("data", (bytes) => output.push(bytes));
    child.stderr.on("data", (bytes) => output.push(bytes));
    child.on("error", failed);
    child.on("exit", (status) => {
      clearTimeout(timer);
      // What a test left running may hold the pipes open for ever.
      setTimeout(() => {
        child.stdout.destroy();
        child.stderr.destroy();
      }, 1_000).unref();
      child.on("close", () => done({ status: status ?? 1, output: Buffer.concat(output).toString("utf8") }));
    });
  });
}

async function check([name, args]) {
  const startedAt = performance.now();
  const { status, output } = await node(args);
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  if (status !== 0) process.stdout.write(output);
  process.stdout.write(`${name}: ${status === 0 ? "ok" : "FAILED"} (${seconds} s)\n`);
  return status === 0 ? [] : [name];
}

function readTimes() {
  try {
    return JSON.parse(readFileSync(TIMES, "utf8"));
  } catch {
    return {};
  }
}

const times = readTimes();
const startedAt = performance.now();
const failedChecks = isWhole ? (await Promise.all(CHECKS.map(check))).flat() : [];

const files = (paths.length === 0 ? ["test"] : paths).flatMap(testFiles).filter((file) => !isQuick || isPure(file));
if (files.length === 0) throw new Error(`no test under ${paths.join(", ")}`);

const folder = join(cache, `tests-${process.pid}`);
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.once(signal, () => process.exit(1));
const programs = await bundle(files, folder);

/**
 * One program for a job's files. No test runs before all are loaded: one that ran while its own file is still being
 * evaluated would find its constants undefined.
 */
function programOf({ name, files }) {
  if (files.length === 1) return programs.get(files[0]);
  const path = join(folder, `${name.replace(/[^a-z0-9]+/g, "-")}.mjs`);
  const imports = files.map((file) => `await import(${JSON.stringify(join(root, programs.get(file)))});`);
  const gate = [
    'import { before } from "node:test";',
    "let open;",
    "before(() => new Promise((done) => (open = done)));",
  ];
  writeFileSync(path, `${[...gate, ...imports, "open();"].join("\n")}\n`);
  return path;
}

let number = 0;

async function runJob(job) {
  number += 1;
  const told = join(folder, `told-${number}.json`);
  const startedAt = performance.now();
  const { status, output } = await node([
    "--enable-source-maps",
    `--test-timeout=${TEST_LIMIT_MS}`,
    "--test-reporter=spec",
    "--test-reporter-destination=stdout",
    "--test-reporter=./test/runner/tally.mjs",
    `--test-reporter-destination=${told}`,
    ...options,
    programOf(job),
  ]);
  const seconds = (performance.now() - startedAt) / 1000;
  const tally = readTally(told);
  // A process that ended early has not said what it ran, whatever its status.
  const isOk = status === 0 && tally !== undefined && tally.fail === 0;
  const { pass = 0, skipped = [], cpu = 0 } = tally ?? {};
  const fail = isOk ? 0 : Math.max(1, tally?.fail ?? 0);
  if (!isOk || !(isWhole || isQuick)) process.stdout.write(`\n${output}\n`);
  const counts = [
    `${pass} passed`,
    fail > 0 ? `${fail} failed` : [],
    skipped.length > 0 ? `${skipped.length} skipped` : [],
  ];
  process.stdout.write(
    `${isOk ? "ok    " : "FAILED"} ${seconds.toFixed(1).padStart(6)} s  ${job.name}: ${counts.flat().join(", ")}\n`,
  );
  return { job, isOk, pass, fail, skipped, seconds, cpu };
}

function readTally(path) {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch {
    return undefined;
  }
}

const jobs = jobsOf(files, (file) => (times[file]?.[0] ?? 0) > LONG_SECONDS).map((job) => {
  const [seconds, cpu] = times[job.name] ?? [];
  return seconds === undefined ? { ...job, ...UNKNOWN } : { ...job, seconds, load: cpu / seconds };
});
let results = await runAll(jobs, Math.max(2, availableParallelism()), runJob);

const isBad = ({ isOk }) => !isOk;
const unsteady = [];
if (isWhole && results.some(isBad) && results.filter(isBad).length <= MOST_RUN_AGAIN) {
  const bad = results.filter(isBad).map(({ job }) => job);
  process.stdout.write(`\nfailed, and run again by themselves: ${bad.map(({ name }) => name).join(", ")}\n\n`);
  const again = await runAll(bad, 1, (job) => runJob({ ...job, load: 1 }));
  unsteady.push(...again.filter(({ isOk }) => isOk).map(({ job }) => job.name));
  const byName = new Map(again.map((result) => [result.job.name, result]));
  results = results.map((result) => byName.get(result.job.name) ?? result);
}

keepTimes();
tell();

function keepTimes() {
  const round = (seconds) => Math.round(seconds * 10) / 10;
  const all = results
    .map(({ job, seconds, cpu }) => [job.name, [round(seconds), round(cpu)]])
    .sort(([, a], [, b]) => b[0] - a[0]);
  mkdirSync(cache, { recursive: true });
  writeFileSync(join(cache, "test-times.json"), `${JSON.stringify(Object.fromEntries(all), undefined, 1)}\n`);
  if (!args.includes("--keep-times")) return;
  const kept = all.filter(([, [seconds]]) => seconds >= LEAST_KEPT_SECONDS).sort(([a], [b]) => (a < b ? -1 : 1));
  const lines = kept.map(([name, [seconds, cpu]]) => `  ${JSON.stringify(name)}: [${seconds}, ${cpu}]`);
  writeFileSync(TIMES, `{\n${lines.join(",\n")}\n}\n`);
}

function tell() {
  const say = (line) => process.stdout.write(`${line}\n`);
  const sum = (of) => results.reduce((total, result) => total + of(result), 0);
  const skips = results.flatMap(({ job, skipped }) => skipped.map((skip) => ({ ...skip, file: job.name })));
  const failed = [...failedChecks, ...results.filter(isBad).map(({ job }) => job.name)];
  say("");
  if (isWhole) {
    say("longest:");
    const slowest = [...results].sort((a, b) => b.seconds - a.seconds).slice(0, SHOWN_SLOWEST);
    for (const { job, seconds, cpu } of slowest) {
      say(`  ${seconds.toFixed(1).padStart(6)} s  ${cpu.toFixed(1).padStart(6)} s of a core  ${job.name}`);
    }
  }
  for (const { file, name, reason } of skips) say(`skipped: ${file}: ${name}${reason === "" ? "" : `: ${reason}`}`);
  if (unsteady.length > 0) say(`unsteady, passed by themselves: ${unsteady.join(", ")}`);
  if (failed.length > 0) say(`failed: ${failed.join(", ")}`);
  const seconds = (performance.now() - startedAt) / 1000;
  say(`${results.length} processes, ${seconds.toFixed(0)} s, ${sum(({ cpu }) => cpu).toFixed(0)} s of a core`);
  say(`${sum(({ pass }) => pass)} passed, ${sum(({ fail }) => fail)} failed, ${skips.length} skipped`);
  process.exitCode = failed.length > 0 ? 1 : 0;
}
