/**
 * Prints `N passed, N failed, N skipped` for several runs of the tests: `node test/runner/sum-counts.mjs FILE STATUS…`, with
 * the file that `GATEWAY_TEST_COUNTS` named and the exit status of each. A run that failed without counting a failed test,
 * since it could not be set up or was killed, counts as one.
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
