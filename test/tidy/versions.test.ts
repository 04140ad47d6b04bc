/**
 * The rule of versions for what replicas share: the structure of commands and rows, and the results of entries.
 * CONTRIBUTING, "Versions", explains what to do when a test here fails. `GATEWAY_REWRITE=1` records what may be
 * recorded.
 */
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { COMMAND_RULES } from "../../src/server/core/state/commands/table.ts";
import { FEATURE_LEVELS, FEATURE_RANGE } from "../../src/server/core/state/index.ts";
import { replicatedShapes } from "../../src/server/core/state/recorded-shapes.ts";
import { CLOSED_LEVEL, DATA, OLDER_BUILDS } from "../server/core/state/versions/closed.ts";
import { judgeShapes, type Recorded, textOf } from "../server/core/state/versions/judge-shapes.ts";
import { undrawn } from "../server/core/state/versions/random-commands.ts";
import {
  doneIn,
  drawLog,
  firstDifference,
  logText,
  OF_THIS_BUILD,
  readLog,
} from "../server/core/state/versions/recorded-log.ts";

const REWRITES = process.env["GATEWAY_REWRITE"] === "1";
const RECORD = "GATEWAY_REWRITE=1 node --import tsx --test test/tidy/versions.test.ts records it";
const LEVELS = { closed: CLOSED_LEVEL, newest: FEATURE_RANGE.max };

const shapesFile = new URL("shapes.json", DATA);
const recorded: Recorded = existsSync(shapesFile) ? JSON.parse(readFileSync(shapesFile, "utf8")) : {};

test("commands and rows keep the meaning of older builds, and new ones need a feature level of their own", () => {
  const { broken, unrecorded, next } = judgeShapes(recorded, replicatedShapes(), LEVELS);
  assert.deepEqual(broken, [], broken.join("\n"));
  if (REWRITES) writeFileSync(shapesFile, textOf(next));
  else assert.deepEqual(unrecorded, [], `not recorded yet: ${unrecorded.join(", ")}. Read what changed; ${RECORD}`);
});

for (const { level } of FEATURE_LEVELS) {
  test(`a log of feature level ${level} reaches its recorded states`, () => {
    const file = new URL(`log-level-${level}.jsonl`, DATA);
    const isOpen = level > CLOSED_LEVEL;
    if (REWRITES && (isOpen || !existsSync(file))) writeFileSync(file, logText(wholeLog(level)));
    assert.ok(existsSync(file), `level ${level} has no recorded log: ${RECORD}`);
    const lines = readLog(readFileSync(file, "utf8"));
    const difference = firstDifference(lines, level, OF_THIS_BUILD);
    const remedy = isOpen
      ? `No older build works at level ${level}: where the change is meant, ${RECORD}.`
      : `Older builds work at level ${level} and would come to another state: let the change hold from a new level on; ` +
        'CONTRIBUTING, "Versions", says how.';
    assert.equal(difference, undefined, `${difference}\n  ${remedy}`);
    assert.deepEqual(missingIn(lines, level), [], `commands that the recorded log never carries out: ${RECORD}`);
  });
}

/** Enough entries for one of the seeds to cover every command. */
const ENTRIES = 450;
const MAX_SEEDS = 100;

type Log = ReturnType<typeof drawLog>;

/** The log of the first seed that covers every command; otherwise the last one tried. */
function wholeLog(level: number): Log {
  for (let seed = level; ; seed += 1) {
    const log = drawLog({ level, seed, entries: ENTRIES });
    if (seed >= MAX_SEEDS || missingIn(log, level).length === 0) return log;
  }
}

function missingIn(log: Log, level: number): readonly string[] {
  const done = doneIn(log, level);
  return [...COMMAND_RULES.values()].flatMap((rule) => (rule.level <= level && !done.has(rule.name) ? rule.name : []));
}

test("every command is included in the logs that builds are compared with", () => {
  assert.deepEqual(undrawn(), [], "give it a line in test/server/core/state/versions/random-commands.ts");
});

test("levels are numbered without a gap, each with its version, and older builds have known levels", () => {
  assert.deepEqual(
    FEATURE_LEVELS.map(({ level }) => level),
    FEATURE_LEVELS.map((_, at) => at + 1),
  );
  for (const { commit, level } of OLDER_BUILDS) {
    assert.match(commit, /^[0-9a-f]{40}$/);
    assert.ok(level >= 1 && level <= FEATURE_RANGE.max, `${commit} works at level ${level}`);
  }
});

test("the changelog lists each level with its version", () => {
  const changelog = readFileSync(new URL("../../CHANGELOG.md", import.meta.url), "utf8");
  const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as {
    readonly version: string;
  };
  const rows = changelog.split("\n").filter((line) => /^\| \d+ \|/.test(line));
  assert.deepEqual(
    rows,
    FEATURE_LEVELS.map(({ level, since, brings }) => `| ${level} | ${since} | ${brings} |`),
    "the table of feature levels in CHANGELOG.md is that of FEATURE_LEVELS (src/server/core/state/commands/feature.ts)",
  );
  for (const { since } of FEATURE_LEVELS) {
    assert.ok(since === version || changelog.includes(`\n## ${since}`), `${since} is no version of this changelog`);
  }
});
