/**
 * Runs the tests of one tier (test/runner/tiers.mjs): `npm test`, `npm run test:all` and `npm run test:long`. The first
 * also checks types and style. The last also runs the random tests of the other two at full length, and writes
 * test/LONG.md. `npm test -- test/base test/cli/flags.test.ts` runs only those tests, whatever their tier, and lists
 * each one; `npm run test:long -- FILE…` does the same at full length and adds the results to test/LONG.md.
 *
 * `--keep-times` writes the duration of each job to test/runner/times.json, which schedules the next run. Any other
 * option is passed to Node's test runner. `GATEWAY_TEST_COUNTS` names a file to which the counts of the run are
 * appended instead of printing the last line; .ci/run adds them up.
 *
 * Files are bundled first (bundle.mjs), files of pure folders share processes (jobs.mjs), and one process runs per core
 * (schedule.mjs). A failed file of the tier `all` runs once more by itself; if it then passes, it is reported as
 * unsteady. `npm test` runs each file once, or like `all` with `GATEWAY_TEST_RERUN=1`, as in .ci/run.
 */

import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { availableParallelism } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { bundle } from "./runner/bundle.mjs";
import { jobsOf, programOf, testFiles } from "./runner/jobs.mjs";
import { writeLongReport } from "./runner/long-report.mjs";
import { runNode, runTests } from "./runner/processes.mjs";
import { countsLine, countsOf, printJob, printSummary } from "./runner/report.mjs";
import { runAll, UNMEASURED } from "./runner/schedule.mjs";
import { childrenSeconds } from "./runner/tally.mjs";
import { isRandom, TIERS, tierOf } from "./runner/tiers.mjs";
import { keepTimes, readTimes, writeLastTimes } from "./runner/times.mjs";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const cache = join(root, "node_modules/.cache/gateway");
const TIMES = join(root, "test/runner/times.json");
const LONG_REPORT = join(root, "test/LONG.md");

/** Time limit of one test process, by tier. An upgrade between every pair of builds takes most of an hour. */
const JOB_LIMIT_MS = { test: 420_000, all: 420_000, long: 3_600_000 };

const CHECKS = [
  ["types", ["node_modules/typescript/bin/tsc", "--noEmit"]],
  ["style", ["node_modules/@biomejs/biome/bin/biome", "check", "--error-on-warnings", "."]],
];

/** If more files than this fail, running them again says nothing about steadiness. */
const MAX_RERUN_JOBS = 10;

/** A pure file that takes longer runs in a process of its own. */
const LONG_SECONDS = 5;

const COMMANDS = { test: "npm test", all: "npm run test:all", long: "npm run test:long" };

const args = process.argv.slice(2);
const paths = args.filter((arg) => !arg.startsWith("-"));
const options = args.filter((arg) => /^-/.test(arg) && !/^--(?:tier=.*|keep-times)$/.test(arg));
const tier = args.find((arg) => arg.startsWith("--tier="))?.slice("--tier=".length) ?? "test";
if (!TIERS.includes(tier)) fail(`--tier is one of ${TIERS.join(", ")}, not ${tier}`);
const isWhole = paths.length === 0;

const length = process.env.GATEWAY_TEST_LENGTH ?? (tier === "long" ? "full" : "short");
const folder = join(cache, `tests-${process.pid}`);
const startsFile = join(folder, "starts");
const env = {
  ...process.env,
  GATEWAY_TEST_LENGTH: length,
  GATEWAY_TEST_PROGRAMS: folder,
  // Same value as the launcher's: four threads are soon all blocked reading pipes, and every file operation then waits.
  UV_THREADPOOL_SIZE: process.env.UV_THREADPOOL_SIZE ?? "16",
  // A test may run the runner, which then keeps its own counts.
  GATEWAY_TEST_COUNTS: undefined,
  // Test support appends a character for each gateway that it starts.
  GATEWAY_TEST_STARTS: startsFile,
  ...(tier === "long" && { GATEWAY_VERSIONS: process.env.GATEWAY_VERSIONS ?? "all" }),
};
const limitMs = env.GATEWAY_VERSIONS === "all" ? JOB_LIMIT_MS.long : JOB_LIMIT_MS[isWhole ? tier : "all"];

/** Ends the run because of an argument. */
function fail(message) {
  process.stderr.write(`test/run.mjs: ${message}\n`);
  process.exit(2);
}

async function check([name, args]) {
  const startedAt = performance.now();
  const { status, output } = await runNode(args, { cwd: root, env: process.env, limitMs });
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  if (status !== 0) process.stdout.write(output);
  process.stdout.write(`${name}: ${status === 0 ? "ok" : "FAILED"} (${seconds} s)\n`);
  return status === 0 ? [] : [name];
}

const startedAt = performance.now();
const failedChecks = isWhole && tier === "test" ? (await Promise.all(CHECKS.map(check))).flat() : [];

const read = (file) => readFileSync(join(root, file), "utf8");
const missing = paths.filter((path) => !existsSync(resolve(root, path)));
if (missing.length > 0) fail(`there is no file or folder ${missing.join(", ")}`);
const found = (isWhole ? ["test"] : paths).flatMap(testFiles).map(withTier);
const isOfTier = (one) => one.tier === tier || (tier === "long" && one.isRandom);
const files = found.filter((one) => !isWhole || isOfTier(one)).map(({ file }) => file);
if (files.length === 0) fail(`there is no test in ${paths.join(", ")}; the name of a test file ends in .test.ts`);

mkdirSync(folder, { recursive: true });
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
const END_SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"];
for (const signal of END_SIGNALS) process.once(signal, () => process.exit(1));
const programs = await bundle(files, folder);

let number = 0;
let jobCount = 0;
const finished = [];

async function runJob(job) {
  number += 1;
  const tallyPath = join(folder, `tally-${number}.json`);
  const program = programOf(job, programs, folder);
  const result = { job, ...(await runTests(program, { tallyPath, options, limitMs, cwd: root, env })) };
  if (!result.isOk || !isWhole) process.stdout.write(`\n${result.output}\n`);
  finished.push(result);
  printJob(result, finished.length, jobCount);
  return result;
}

const times = readTimes(TIMES);
const isLong = (file) => (times[file]?.[0] ?? 0) > LONG_SECONDS;
const jobs = jobsOf(files, isLong).map((job) => {
  const [seconds, cpu] = times[job.name] ?? [];
  return seconds === undefined ? { ...job, ...UNMEASURED } : { ...job, seconds, load: cpu / seconds };
});
if (tier === "long") for (const signal of END_SIGNALS) process.prependOnceListener(signal, reportLong);
jobCount = jobs.length;
process.stdout.write(`${files.length} test files in ${jobs.length} processes\n`);
let results = await runAll(jobs, Math.max(2, availableParallelism()), runJob);

const failedJobs = results.filter(({ isOk }) => !isOk).map(({ job }) => job);
const unsteady = [];
const isRunAgain = tier === "all" || process.env.GATEWAY_TEST_RERUN === "1";
if (isWhole && isRunAgain && failedJobs.length > 0 && failedJobs.length <= MAX_RERUN_JOBS) {
  jobCount += failedJobs.length;
  process.stdout.write(`\nfailed, and run again by themselves: ${failedJobs.map(({ name }) => name).join(", ")}\n\n`);
  const again = await runAll(failedJobs, 1, (job) => runJob({ ...job, load: 1 }));
  unsteady.push(...again.filter(({ isOk }) => isOk).map(({ job }) => job.name));
  const byName = new Map(again.map((result) => [result.job.name, result]));
  results = results.map((result) => byName.get(result.job.name) ?? result);
}

writeLastTimes(join(cache, "test-times.json"), results);
if (args.includes("--keep-times")) keepTimes(TIMES, results, (name) => /\*/.test(name) || isFile(join(root, name)));

function withTier(file) {
  const text = read(file);
  return { file, tier: tierOf(file, text) ?? "test", isRandom: isRandom(text) };
}

function isFile(path) {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

const own = process.cpuUsage();
const summary = {
  results,
  failedChecks,
  unsteady,
  otherTiers: isWhole ? filesOfOtherTiers() : [],
  isWhole,
  length,
  seconds: Math.round((performance.now() - startedAt) / 1000),
  cpu: Math.round((own.user + own.system) / 1e6 + childrenSeconds()),
  starts: countStarts(),
};
const counts = countsOf(results, failedChecks);
printSummary(summary);
if (tier === "long") reportLong();
if (process.env.GATEWAY_TEST_COUNTS === undefined) process.stdout.write(`${countsLine(counts)}\n`);
else appendFileSync(process.env.GATEWAY_TEST_COUNTS, `${JSON.stringify(counts)}\n`);
process.exitCode = counts.failed > 0 || results.some(({ isOk }) => !isOk) ? 1 : 0;

function countStarts() {
  return isFile(startsFile) ? statSync(startsFile).size : 0;
}

/** Adds the ended jobs to the report. A job still running when the run is interrupted is left out. */
function reportLong() {
  const whole = testFiles("test").map(withTier).filter(isOfTier);
  const names = jobsOf(
    whole.map(({ file }) => file),
    isLong,
  ).map(({ name }) => name);
  writeLongReport(LONG_REPORT, root, { results: finished, names, starts: countStarts() });
}

function filesOfOtherTiers() {
  return TIERS.flatMap((other) => {
    const count = found.filter((one) => one.tier === other && !isOfTier(one)).length;
    return count === 0 ? [] : [{ command: COMMANDS[other], count }];
  });
}
