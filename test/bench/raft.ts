/**
 * `npm run bench:raft`: speed of writes, recovery and transfers of the replicated state, relative to the disk's own (R,
 * measured before and after each scenario). Missed targets change the exit status only with `--strict`.
 */

import { mkdirSync } from "node:fs";
import { cpus } from "node:os";
import { resolve } from "node:path";
import type { LoadJob, LoadResult } from "./child/load.ts";
import { startAsked } from "./parts/children.ts";
import { compilePieces } from "./parts/compile.ts";
import { conclude, guarded, readScenarioOptions, type ScenarioOptions } from "./parts/scenario.ts";
import { compileNode } from "./raft/compile.ts";
import { LARGE_STATE } from "./raft/large-state.ts";
import { measureRawRate } from "./raft/raw-rate.ts";
import { type Reported, renderReported } from "./raft/report.ts";
import { SCENARIOS, type Surroundings } from "./raft/scenarios.ts";

const ALL = [...SCENARIOS, LARGE_STATE];

/** The launcher's setting: synced writes are thread-pool jobs and need room beside others. */
const POOL_THREADS = "16";

async function run({ only, isQuick, isJson, profileFolder }: ScenarioOptions): Promise<readonly Reported[]> {
  const note = (text: string): void => {
    if (!isJson) process.stdout.write(`${text}\n`);
  };
  note(`node ${process.version}, ${cpus().length} x ${cpus()[0]?.model ?? "unknown"}`);
  note("R: one writer appending 1 KB and syncing it (fdatasync), times a second\n");
  process.env["UV_THREADPOOL_SIZE"] = POOL_THREADS;
  const pieces = await compilePieces();
  const generator = startAsked<LoadJob, LoadResult>(pieces.load);
  if (profileFolder !== undefined) mkdirSync(resolve(profileFolder), { recursive: true });
  const input: Surroundings = {
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
    const before = input.rawRate();
    const figures = await guarded(scenario, input);
    const rawRates = [before, input.rawRate()] as const;
    const rows = figures.map((figure) => ({ ...figure, scenario: scenario.name, rawRates }));
    reported.push(...rows);
    note(`${scenario.name}\n${renderReported(rows)}\n`);
  }
  await generator.stop();
  return reported;
}

const options = readScenarioOptions(
  "bench:raft",
  ALL.map(({ name }) => name),
);
process.exitCode = options === undefined ? 2 : conclude(await run(options), options);
