/**
 * `npm run bench:guardrails`: cost of the `pii` detector, its findings compared with the Presidio analyzer, and its
 * findings in ordinary texts. The data is beside the project, or in the folder of GATEWAY_GUARDRAIL_DATA. Missed
 * targets change the exit status only with `--strict`.
 */

import { spawnSync } from "node:child_process";
import { cpus, loadavg } from "node:os";
import { resolve } from "node:path";
import { engineOf } from "../../src/server/detectors/pii/index.ts";
import { peer } from "../peers/index.ts";
import { ALARMS } from "./guardrails/alarms.ts";
import { COST, LINEARITY } from "./guardrails/cost.ts";
import { PRESIDIO } from "./guardrails/presidio.ts";
import { type Figure, renderFigures } from "./parts/figures.ts";
import { conclude, guarded, readScenarioOptions, type ScenarioOptions } from "./parts/scenario.ts";

const ALL = [COST, LINEARITY, PRESIDIO, ALARMS];

async function run(options: ScenarioOptions): Promise<readonly Figure[]> {
  const note = (text: string): void => {
    if (!options.isJson) process.stdout.write(`${text}\n`);
  };
  const load = loadavg().map((it) => it.toFixed(1));
  note(
    `node ${process.version}, ${cpus().length} x ${cpus()[0]?.model ?? "unknown"}, load before: ${load.join(" ")}\n`,
  );
  const all: Figure[] = [];
  for (const scenario of ALL) {
    if (options.only.length > 0 && !options.only.includes(scenario.name)) continue;
    const figures = await guarded(scenario, options);
    all.push(...figures);
    note(`${scenario.name}\n${renderFigures(figures)}\n`);
  }
  return all;
}

/** If `re2` is a test peer and not found from here, runs once more with its folder. */
async function withNative(): Promise<number | undefined> {
  if (engineOf("native") !== undefined || process.env["NODE_PATH"] !== undefined) return undefined;
  const re2 = await peer("re2");
  if (re2.missing !== false) return undefined;
  const env = { ...process.env, NODE_PATH: resolve(re2.path, "../../../..") };
  const again = spawnSync(process.execPath, [...process.execArgv, ...process.argv.slice(1)], { env, stdio: "inherit" });
  return again.status ?? 1;
}

const options = readScenarioOptions(
  "bench:guardrails",
  ALL.map(({ name }) => name),
);
if (options === undefined) process.exitCode = 2;
else process.exitCode = (await withNative()) ?? conclude(await run(options), options);
