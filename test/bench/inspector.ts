/**
 * `npm run bench:inspector`: latency of inspection behind a real Envoy, whole and streamed, small and large, compared
 * with a called service without inspection logic. Missed targets change the exit status only with `--strict`.
 */

import { spawnSync } from "node:child_process";
import { cpus, loadavg } from "node:os";
import { fileURLToPath } from "node:url";
import { peer } from "../peers/index.ts";
import { CELLS, scenarioOf } from "./inspector/cells.ts";
import { openInspectorStage } from "./inspector/stage.ts";
import { type Figure, renderFigures } from "./parts/figures.ts";
import { conclude, guarded, readScenarioOptions, type ScenarioOptions } from "./parts/scenario.ts";

const GATEWAY = fileURLToPath(new URL("../../bin/gateway", import.meta.url));

async function run(options: ScenarioOptions): Promise<readonly Figure[]> {
  const note = (text: string): void => {
    if (!options.isJson) process.stdout.write(`${text}\n`);
  };
  const version = spawnSync(process.execPath, [GATEWAY, "version"], { encoding: "utf8" });
  if (version.status !== 0) throw new Error("the gateway does not run; build it first (npm run build)");
  const envoy = await peer("envoy");
  if (envoy.missing !== false) throw new Error(envoy.missing);
  const before = loadavg().map((it) => it.toFixed(1));
  note(`${version.stdout.trim()}; node ${process.version}, ${cpus().length} x ${cpus()[0]?.model ?? "unknown"}`);
  note(`load of the machine before: ${before.join(" ")}`);
  note(
    "added: to Envoy alone, by the inspector; ratio: over what is added by a service that looks at nothing, and the",
  );
  note("detector's own time; of streamed requests, from their last piece on\n");
  const stage = await openInspectorStage(envoy.path, options.profileFolder);
  try {
    const all: Figure[] = [];
    for (const cell of CELLS) {
      if (options.only.length > 0 && !options.only.includes(cell.name)) continue;
      const figures = await guarded(scenarioOf(cell), { stage, isQuick: options.isQuick });
      all.push(...figures);
      note(`${renderFigures(figures)}\n`);
    }
    return all;
  } finally {
    await stage.end();
  }
}

const options = readScenarioOptions(
  "bench:inspector",
  CELLS.map(({ name }) => name),
);
if (options === undefined) process.exitCode = 2;
else process.exitCode = conclude(await run(options), options);
