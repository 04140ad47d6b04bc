/**
 * Prints `N passed, N failed, N skipped` for several test runs: `node test/runner/sum-counts.mjs FILE STATUS…`, with
 * the file named by `GATEWAY_TEST_COUNTS` and the exit status of each run. A run that failed without a failed test,
 * because its setup failed or it was killed, counts as one failure.
 */
import { readFileSync } from "node:fs";
import { countsLine } from "./report.mjs";

const [file, ...statuses] = process.argv.slice(2);
const runs = readFileSync(file, "utf8")
  .trim()
  .split("\n")
  .filter(Boolean)
  .map((line) => JSON.parse(line));
const sum = (of) => runs.reduce((total, run) => total + of(run), 0);
const failedRuns = statuses.filter((status) => status !== "0").length;
const countedRuns = runs.filter(({ failed }) => failed > 0).length;
const failed = sum((run) => run.failed) + Math.max(0, failedRuns - countedRuns);
process.stdout.write(
  `${countsLine({ passed: sum((run) => run.passed), failed, skipped: sum((run) => run.skipped) })}\n`,
);
