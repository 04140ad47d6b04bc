/**
 * `npm run bench:raft`: how fast the replicated state takes writes, comes back and moves, in ratios to what the disk
 * does by itself (R, measured before and after each scenario). Misses are an exit status only with `--strict`.
 */

import { mkdirSync } from "node:fs";
import { cpus } from "node:os";
import { resolve } from "node:path";
import type { LoadJob, LoadResult } from "./child/load.ts";
import { startAsked } from "./parts/children.ts";
import { compilePieces } from "./parts/compile.ts";
import { compileNode } from "./raft/compile.ts";
import { LARGE_STATE } from "./raft/large-state.ts";
import { parseRaftOptions, type RaftBenchOptions, USAGE } from "./raft/options.ts";
import { measureRawRate } from "./raft/raw-rate.ts";
import { figuresAsJson, isMet, type Reported, renderFigures } from "./raft/report.ts";
import { type Figure, SCENARIOS, type Scenario, type Surroundings } from "./raft/scenarios.ts";

const ALL: readonly Scenario[] = [...SCENARIOS, LARGE_STATE];

/** As the launcher sets it: synced writes are jobs of the thread pool, and must find room beside others. */
const POOL_THREADS = "16";

function readOptions(): RaftBenchOptions | undefined {
  try {
    const options = parseRaftOptions(process.argv.slice(2));
    const known = ALL.map(({ name }) => name);
    const unknown = options.only.find((name) => !known.includes(name));
    if (unknown !== undefined) throw new Error(`no scenario ${unknown}; there are ${known.join(", ")}`);
    return options;
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
    return undefined;
  }
}

async function run({ only, isQuick, isJson, profileFolder }: RaftBenchOptions): Promise<readonly Reported[]> {
  const note = (text: string): void => {
    if (!isJson) process.stdout.write(`${text}\n`);
  };
  note(`node ${process.version}, ${cpus().length} x ${cpus()[0]?.model ?? "unknown"}`);
  note("R: one writer appending 1 KB and syncing it (fdatasync), times a second\n");
  process.env["UV_THREADPOOL_SIZE"] = POOL_THREADS;
  const pieces = await compilePieces();
  const generator = startAsked<LoadJob, LoadResult>(pieces.load);
  if (profileFolder !== undefined) mkdirSync(resolve(profileFolder), { recursive: true });
  const given: Surroundings = {
    file: await compileNode(pieces.folder),
    folder: pieces.folder,
    nodeFlags: profileFolder === undefined ? [] : ["--cpu-prof", "--cpu-prof-dir", resolve(profileFolder)],
    scale: isQuick ? 0.1 : 1,
    rawRate: () => measureRawRate(pieces.folder),
    generator,
  };
  const reported: Reported[] = [];
  for (const scenario of ALL) {
    if (only.length > 0 && !only.includes(scenario.name)) continue;
    const before = given.rawRate();
    const figures = await guarded(scenario, given);
    const rawRates = [before, given.rawRate()] as const;
    const rows = figures.map((figure) => ({ ...figure, scenario: scenario.name, rawRates }));
    reported.push(...rows);
    note(`${scenario.name}\n${renderFigures(rows)}\n`);
  }
  await generator.stop();
  return reported;
}

/** What cannot be measured is a miss in the table, so that the others are still shown. */
async function guarded(scenario: Scenario, given: Surroundings): Promise<readonly Figure[]> {
  try {
    return await scenario.run(given);
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    return [{ name: scenario.name, value: Number.NaN, unit: "times", aim: { atLeast: 0 }, detail }];
  }
}

const options = readOptions();
if (options === undefined) {
  process.exitCode = 2;
} else {
  const figures = await run(options);
  const missed = figures.filter(({ value, aim }) => isMet(value, aim) === false).length;
  if (options.isJson) process.stdout.write(`${figuresAsJson(figures)}\n`);
  else process.stdout.write(missed === 0 ? "every aim met\n" : `${missed} of the aims not met\n`);
  process.exitCode = missed > 0 && options.isStrict ? 1 : 0;
}
