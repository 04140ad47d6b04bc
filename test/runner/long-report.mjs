/** Writes test/LONG.md: date, commit and figures of the last `npm run test:long`. */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { cpus, totalmem } from "node:os";

function commitOf(root) {
  try {
    const git = (...args) => execFileSync("git", args, { cwd: root, encoding: "utf8" }).trim();
    const changed = git("status", "--porcelain", "--untracked-files=no") === "" ? "" : ", with changes";
    return `${git("rev-parse", "--short=12", "HEAD")}${changed}`;
  } catch {
    return "unknown (no git repository)";
  }
}

const cell = (text) => String(text).replaceAll("|", "\\|").replaceAll("\n", " ");

/** Writes the report of a whole run to `path`. */
export function writeLongReport(path, root, { results, seconds, cpu, starts }, { passed, failed, skipped }) {
  const gib = (totalmem() / 2 ** 30).toFixed(1);
  const rows = [...results]
    .sort((a, b) => (a.job.name < b.job.name ? -1 : 1))
    .map(({ job, isOk, pass, fail, skipped, seconds, cpu }) =>
      [
        `\`${job.name}\``,
        isOk ? "passed" : "**failed**",
        pass,
        fail,
        skipped.length,
        seconds.toFixed(1),
        cpu.toFixed(1),
      ].join(" | "),
    );
  const skips = results.flatMap(({ job, skipped }) =>
    skipped.map(({ name, reason }) => `- \`${job.name}\`: ${cell(name)}: ${cell(reason || "no reason given")}`),
  );
  const lines = [
    "# Last run of the long tests",
    "",
    "`npm run test:long` writes this file. It runs what takes hours or needs more than npm and Debian, and the random tests of",
    "the other commands at their full length.",
    "",
    `- Date: ${new Date().toISOString().slice(0, 16).replace("T", " ")} UTC`,
    `- Commit: ${commitOf(root)}`,
    `- Machine: ${cpus().length} cores, ${gib} GiB, Node.js ${process.version}, ${process.platform}-${process.arch}`,
    `- Result: ${passed} passed, ${failed} failed, ${skipped} skipped`,
    `- Time: ${seconds} s, ${cpu} s of CPU, ${starts} starts of the gateway`,
    "",
    "| File | Result | Passed | Failed | Skipped | Seconds | CPU seconds |",
    "|---|---|---|---|---|---|---|",
    ...rows.map((row) => `| ${row} |`),
    "",
    ...(skips.length === 0 ? [] : ["## Skipped", "", ...skips, ""]),
  ];
  writeFileSync(path, lines.join("\n"));
}
