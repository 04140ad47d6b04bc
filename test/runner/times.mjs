/**
 * Times of earlier runs, used for scheduling: `test/runner/times.json` has `[seconds, seconds of CPU]` of each job. A
 * run writes its times to node_modules/.cache/gateway/test-times.json and, with `--keep-times`, to the project's file.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

/** Shorter jobs are not recorded. */
const MIN_KEPT_SECONDS = 1;

export function readTimes(path) {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch {
    return {};
  }
}

const round = (seconds) => Math.round(seconds * 10) / 10;

/**
 * Writes the times of `results` to `path`, the longest first, with the CPU time of child processes as a third number.
 */
export function writeLastTimes(path, results) {
  const all = results
    .map(({ job, seconds, cpu, children }) => [job.name, [round(seconds), round(cpu), round(children)]])
    .sort(([, a], [, b]) => b[0] - a[0]);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `${JSON.stringify(Object.fromEntries(all), undefined, 1)}\n`);
}

/**
 * Merges the times of `results` into the file at `path`. Jobs that did not run keep their times if `isKnown` returns
 * true for them.
 */
export function keepTimes(path, results, isKnown) {
  const times = new Map(Object.entries(readTimes(path)).filter(([name]) => isKnown(name)));
  for (const { job, seconds, cpu } of results) {
    if (seconds >= MIN_KEPT_SECONDS) times.set(job.name, [round(seconds), round(cpu)]);
    else times.delete(job.name);
  }
  const lines = [...times]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, [seconds, cpu]]) => `  ${JSON.stringify(name)}: [${seconds}, ${cpu}]`);
  writeFileSync(path, `{\n${lines.join(",\n")}\n}\n`);
}
