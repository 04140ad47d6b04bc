/**
 * Writes test/LONG.md: the result of each job of `npm run test:long`, with date and commit.
 *
 * A run that was interrupted, or that had only some files, replaces the rows of its finished jobs and keeps the others.
 * The report lists jobs that never ran.
 */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { cpus, totalmem } from "node:os";

function commitOf(root) {
  try {
    const git = (...args) => execFileSync("git", args, { cwd: root, encoding: "utf8" }).trim();
    // The report itself may be written several times between two commits.
    const changed = git("status", "--porcelain", "--untracked-files=no", "--", ".", ":!test/LONG.md") === "" ? "" : "+";
    return `${git("rev-parse", "--short=12", "HEAD")}${changed}`;
  } catch {
    return "unknown";
  }
}

const cell = (text) => String(text).replaceAll("|", "\\|").replaceAll("\n", " ");

/** Returns the rows and skipped tests of an earlier report, by job. */
function earlier(path) {
  const rows = new Map();
  const skips = new Map();
  for (const line of textOf(path).split("\n")) {
    const row = /^\| `([^`]+)` \| (passed|\*\*failed\*\*) \| (\d+) \| (\d+) \| (\d+) \|/.exec(line);
    if (row !== null) rows.set(row[1], { line, isOk: row[2] === "passed", counts: row.slice(3, 6).map(Number) });
    const skip = /^- `([^`]+)`: (.*): /.exec(line);
    if (skip !== null) skips.set(skip[1], [...(skips.get(skip[1]) ?? []), line]);
  }
  return { rows, skips };
}

function textOf(path) {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

/**
 * Writes the report to `path`. `results` are those of ended jobs. `names` are the jobs of a whole run; rows of other
 * jobs are dropped.
 */
export function writeLongReport(path, root, { results, names, starts }) {
  const { rows, skips } = earlier(path);
  const now = `${new Date().toISOString().slice(0, 16).replace("T", " ")}`;
  const commit = commitOf(root);
  for (const { job, isOk, pass, fail, skipped, seconds, cpu } of results) {
    const counts = [pass, fail, skipped.length];
    const outcome = isOk ? "passed" : "**failed**";
    const cells = [`\`${job.name}\``, outcome, ...counts, seconds.toFixed(1), cpu.toFixed(1), now, `\`${commit}\``];
    rows.set(job.name, { line: `| ${cells.join(" | ")} |`, isOk, counts });
    const own = skipped.map(
      ({ name, reason }) => `- \`${job.name}\`: ${cell(name)}: ${cell(reason || "no reason given")}`,
    );
    skips.set(job.name, own);
  }
  const isOfRun = (name) => names.includes(name) || results.some(({ job }) => job.name === name);
  const kept = [...rows].filter(([name]) => isOfRun(name)).sort(([a], [b]) => (a < b ? -1 : 1));
  const left = names.filter((name) => !rows.has(name)).sort();
  const sum = (at) => kept.reduce((total, [, { counts }]) => total + counts[at], 0);
  const gib = (totalmem() / 2 ** 30).toFixed(1);
  const skipLines = kept.flatMap(([name]) => skips.get(name) ?? []);
  const lines = [
    "# Results of the long tests",
    "",
    "`npm run test:long` writes this file. It runs what takes hours or needs more than npm and Debian, and the random tests of",
    "the other commands at their full length. `npm run test:long -- FILE…` runs some of it and replaces their rows, as does a run",
    "that was interrupted. A commit with `+` had changes that were not committed.",
    "",
    `- Jobs: ${kept.length} of ${kept.length + left.length} run, ${kept.filter(([, { isOk }]) => !isOk).length} failed`,
    `- Tests: ${sum(0)} passed, ${sum(1)} failed, ${sum(2)} skipped`,
    `- Last run: ${now} UTC, commit \`${commit}\`, ${results.length} jobs, ${starts} starts of the gateway`,
    `- Machine: ${cpus().length} cores, ${gib} GiB, Node.js ${process.version}, ${process.platform}-${process.arch}`,
    "",
    "| Job | Result | Passed | Failed | Skipped | Seconds | CPU seconds | Date (UTC) | Commit |",
    "|---|---|---|---|---|---|---|---|---|",
    ...kept.map(([, { line }]) => line),
    "",
    ...(skipLines.length === 0 ? [] : ["## Skipped", "", ...skipLines, ""]),
    ...(left.length === 0 ? [] : ["## Not run", "", ...left.map((name) => `- \`${name}\``), ""]),
  ];
  writeFileSync(path, lines.join("\n"));
}
