/**
 * `npm run bench:admin`: cost of the admin plane, for its users and for model requests. It measures the build (`npm run
 * build`). Missed targets change the exit status only with `--strict`.
 */

import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { AdminBenchInputs } from "./admin/admin-scenario.ts";
import { CROSS_JOIN } from "./admin/cross-join.ts";
import { DECISIONS } from "./admin/decisions.ts";
import { LISTS } from "./admin/lists.ts";
import { QUERY_START } from "./admin/query-start.ts";
import { WAITS } from "./admin/waits.ts";
import { WRITES } from "./admin/writes.ts";
import type { LoadJob, LoadResult } from "./child/load.ts";
import type { SteadyJob, SteadyResult } from "./child/steady-load.ts";
import { startAsked, startPiece } from "./parts/children.ts";
import { compilePieces } from "./parts/compile.ts";
import { type Figure, renderFigures } from "./parts/figures.ts";
import { conclude, guarded, readScenarioOptions, type ScenarioOptions } from "./parts/scenario.ts";
import { load } from "./rounds.ts";

const ALL = [QUERY_START, CROSS_JOIN, WAITS, LISTS, WRITES, DECISIONS];
const LAUNCHER = fileURLToPath(new URL("../../bin/gateway", import.meta.url));
const QUICK_SCALE = 0.1;

interface Reported extends Figure {
  readonly scenario: string;
}

async function run(options: ScenarioOptions): Promise<readonly Reported[]> {
  const { only, isQuick, isJson, profileFolder } = options;
  const note = (text: string): void => {
    if (!isJson) process.stdout.write(`${text}\n`);
  };
  const version = spawnSync(process.execPath, [LAUNCHER, "version"], { encoding: "utf8" });
  if (version.status !== 0) throw new Error("the gateway does not run; build it first (npm run build)");
  note(`${version.stdout.trim()}; node ${process.version}, ${cpus().length} x ${cpus()[0]?.model ?? "unknown"}`);
  note(
    `load of the machine before: ${loadavg()
      .map((it) => it.toFixed(1))
      .join(" ")}\n`,
  );
  const pieces = await compilePieces();
  const upstream = await startPiece(pieces.upstream, []);
  const generator = startAsked<LoadJob, LoadResult>(pieces.load);
  const steady = startAsked<SteadyJob, SteadyResult>(pieces.steadyLoad);
  if (profileFolder !== undefined) mkdirSync(resolve(profileFolder), { recursive: true });
  const input: AdminBenchInputs = {
    pieces,
    launcher: LAUNCHER,
    nodeFlags: profileFolder === undefined ? [] : ["--cpu-prof", "--cpu-prof-dir", resolve(profileFolder)],
    isQuick,
    scale: isQuick ? QUICK_SCALE : 1,
    upstreamPort: upstream.port,
    load: (job) => load((asked) => generator.ask(asked), job),
    async steady(job) {
      const result = await steady.ask(job);
      if (result.kind === "broken") throw new Error(`steady load: ${result.reason}`);
      if (result.failures > 0) throw new Error(`steady load: ${result.failures} answers were not 2xx`);
      return result;
    },
  };
  const reported: Reported[] = [];
  for (const scenario of ALL) {
    if (only.length > 0 && !only.includes(scenario.name)) continue;
    const rows = (await guarded(scenario, input)).map((figure) => ({ ...figure, scenario: scenario.name }));
    reported.push(...rows);
    note(`${scenario.name}\n${renderFigures(rows)}\n`);
  }
  await Promise.all([generator.stop(), steady.stop(), upstream.stop()]);
  return reported;
}

const options = readScenarioOptions(
  "bench:admin",
  ALL.map(({ name }) => name),
);
process.exitCode = options === undefined ? 2 : conclude(await run(options), options);
