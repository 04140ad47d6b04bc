/**
 * `npm run bench:console`: latency of a key in the console, its idle cost, and whether its memory is stable. It
 * measures the build (`npm run build`) in a pseudo-terminal. Missed targets change the exit status only with
 * `--strict`. `--only cluster` uses three real nodes with traffic; with `GATEWAY_BENCH_AGAINST=FOLDER`, another build
 * beside it.
 */

import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { ptySkip } from "../console/support/terminal.ts";
import { CLUSTER } from "./console/cluster.ts";
import { HOUR } from "./console/hour.ts";
import { IDLE } from "./console/idle.ts";
import { LATENCY } from "./console/latency.ts";
import { RECORDED, REQUESTS } from "./console/requests.ts";
import type { StageOptions } from "./console/stage.ts";
import { type Figure, renderFigures } from "./parts/figures.ts";
import { conclude, guarded, readScenarioOptions, type ScenarioOptions } from "./parts/scenario.ts";

const ALL = [CLUSTER, IDLE, LATENCY, REQUESTS, RECORDED, HOUR];
const LAUNCHER = fileURLToPath(new URL("../../bin/gateway", import.meta.url));

async function run({ only, isQuick, isJson, profileFolder }: ScenarioOptions): Promise<readonly Figure[]> {
  const note = (text: string): void => {
    if (!isJson) process.stdout.write(`${text}\n`);
  };
  if (ptySkip !== false) throw new Error(ptySkip);
  const version = spawnSync(process.execPath, [LAUNCHER, "version"], { encoding: "utf8" });
  if (version.status !== 0) throw new Error("the gateway does not run; build it first (npm run build)");
  note(`${version.stdout.trim()}; node ${process.version}, ${cpus().length} x ${cpus()[0]?.model ?? "unknown"}`);
  note(
    `load of the machine before: ${loadavg()
      .map((it) => it.toFixed(1))
      .join(" ")}\n`,
  );
  if (profileFolder !== undefined) mkdirSync(resolve(profileFolder), { recursive: true });
  const input: StageOptions = {
    isQuick,
    profileFolder: profileFolder === undefined ? undefined : resolve(profileFolder),
  };
  const figures: Figure[] = [];
  for (const scenario of ALL) {
    if (only.length > 0 && !only.includes(scenario.name)) continue;
    const rows = await guarded(scenario, input);
    figures.push(...rows);
    note(`${scenario.name}\n${renderFigures(rows)}\n`);
  }
  return figures;
}

const options = readScenarioOptions(
  "bench:console",
  ALL.map(({ name }) => name),
);
process.exitCode = options === undefined ? 2 : conclude(await run(options), options);
