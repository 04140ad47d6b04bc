/** Output of the runner: a line for each job, and the summary at the end. */
import { readFileSync } from "node:fs";

const SHOWN_SLOWEST = 15;

const say = (line) => process.stdout.write(`${line}\n`);
const sum = (values) => values.reduce((total, value) => total + value, 0);
const formatSeconds = (seconds) => `${seconds.toFixed(1).padStart(6)} s`;

/** Prints the result of a job, the `number`th of `count` that ended. */
export function printJob({ job, isOk, pass, fail, skipped, seconds }, number, count) {
  const counts = [
    `${pass} passed`,
    fail > 0 ? `${fail} failed` : [],
    skipped.length > 0 ? `${skipped.length} skipped` : [],
  ];
  const progress = `${String(number).padStart(String(count).length)}/${count}`;
  say(`${isOk ? "ok    " : "FAILED"} ${progress} ${formatSeconds(seconds)}  ${job.name}: ${counts.flat().join(", ")}`);
}

/** Returns how many tests passed, failed and were skipped; a failed check counts as a failed test. */
export function countsOf(results, failedChecks) {
  return {
    passed: sum(results.map(({ pass }) => pass)),
    failed: sum(results.map(({ fail }) => fail)) + failedChecks.length,
    skipped: sum(results.map(({ skipped }) => skipped.length)),
  };
}

export const countsLine = ({ passed, failed, skipped }) => `${passed} passed, ${failed} failed, ${skipped} skipped`;

/**
 * Prints the summary: slow tests, skipped tests, tests of other commands, and failed tests with the command that runs
 * them again.
 */
export function printSummary({ results, failedChecks, unsteady, otherTiers, isWhole, length, seconds, cpu, starts }) {
  say("");
  if (isWhole) printSlowest(results);
  const skips = results.flatMap(({ job, skipped }) => skipped.map((skip) => ({ ...skip, file: job.name })));
  for (const { file, name, reason } of skips) say(`skipped: ${file}: ${name}${reason === "" ? "" : `: ${reason}`}`);
  for (const { command, count } of otherTiers) say(`not run here: ${count} files of \`${command}\``);
  for (const name of unsteady)
    say(`unsteady: ${name}: failed beside other tests and passed by itself; this is a defect`);
  for (const name of failedChecks) say(`failed: ${name}: run again by \`npm run check:${name}\``);
  for (const result of results.filter(({ isOk }) => !isOk)) printFailed(result, length);
  say(`${results.length} processes of tests, ${starts} starts of the gateway, ${seconds} s, ${cpu} s of CPU`);
}

function printSlowest(results) {
  say("longest:");
  const slowest = [...results].sort((a, b) => b.seconds - a.seconds).slice(0, SHOWN_SLOWEST);
  for (const { job, seconds, cpu } of slowest)
    say(`  ${formatSeconds(seconds)}  ${formatSeconds(cpu)} of CPU  ${job.name}`);
}

/** Prints the command that runs a failed job again. A random test may fail only at full length. */
function printFailed({ job, failed }, length) {
  const prefix = length === "full" ? "GATEWAY_TEST_LENGTH=full " : "";
  const command = `${prefix}node test/run.mjs`;
  if (failed.length === 0) say(`failed: ${job.name}: run again by \`${command} ${job.files.join(" ")}\``);
  for (const { name, file } of failed) {
    const files = job.files.filter((own) => job.files.length === 1 || belongsTo(own, file, name));
    const paths = (files.length > 0 ? files : job.files).join(" ");
    say(`failed: ${paths}: ${name}: run again by \`${command} ${paths} --test-name-pattern=${quoted(name)}\``);
  }
}

/**
 * Returns whether a failed test belongs to the file `own`, by the place that Node reports or by a test name equal to
 * the file's.
 */
function belongsTo(own, place, name) {
  if (place?.replaceAll("\\", "/").includes(own.replace(/\.tsx?$/, "."))) return true;
  return readFileSync(own, "utf8").includes(JSON.stringify(name).slice(1, -1));
}

/** Returns a pattern that matches exactly this name, as one shell word. */
function quoted(name) {
  const pattern = `^${name.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&")}$`;
  return `'${pattern.replaceAll("'", "'\\''")}'`;
}
