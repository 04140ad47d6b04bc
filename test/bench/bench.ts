/**
 * `npm run bench`: the gateway compared with the bare Node proxy, and with nginx if installed; same run, same load,
 * same upstream. It measures and reports; missed targets change the exit status only with `--strict`.
 */

import { spawnSync } from "node:child_process";
import { cpus, loadavg } from "node:os";
import { compare } from "./comparisons.ts";
import { startContenders } from "./contenders.ts";
import { measureHalfLoad } from "./governance/half-load.ts";
import { measureKeyMemory } from "./governance/key-memory.ts";
import { measureMemory } from "./memory.ts";
import { type BenchOptions, parseBenchOptions, USAGE } from "./options.ts";
import { startGateway } from "./parts/gateway.ts";
import { isNginxInstalled } from "./parts/nginx.ts";
import { profileScenario } from "./profile.ts";
import { type Judged, judge, renderJudged, renderLoad } from "./report.ts";
import { runRounds } from "./rounds.ts";
import { LOAD_SCENARIOS, type LoadScenario, OTHER_SCENARIOS } from "./scenarios.ts";
import { openStage, prepare, type Stage } from "./stage.ts";
import { measureReady, measureVersion } from "./startup.ts";
import { measureTls } from "./tls/cost.ts";
import { measureWorkers } from "./workers/measure.ts";

function readOptions(): BenchOptions | undefined {
  try {
    const options = parseBenchOptions(process.argv.slice(2));
    const known: readonly string[] = [...LOAD_SCENARIOS.map(({ name }) => name), ...OTHER_SCENARIOS];
    const unknown = options.only.find((name) => !known.includes(name));
    if (unknown !== undefined) throw new Error(`no scenario ${unknown}; there are ${known.join(", ")}`);
    const version = spawnSync(process.execPath, [options.gateway, "version"], { encoding: "utf8" });
    if (version.status !== 0) throw new Error(`${options.gateway} does not run; build it first (npm run build)`);
    say(`${version.stdout.trim()}; node ${process.version}, ${cpus().length} x ${cpus()[0]?.model ?? "unknown"}`);
    return options;
  } catch (error) {
    process.stderr.write(`${describe(error)}\n\n${USAGE}`);
    return undefined;
  }
}

/** Runs the requested parts; returns the number of missed targets. */
async function run(options: BenchOptions): Promise<number> {
  const stage = await openStage(options);
  const isAsked = (name: string): boolean => options.only.length === 0 || options.only.includes(name);
  const load = loadavg().map((average) => average.toFixed(1));
  say(`load of the machine before: ${load.join(" ")}`);
  if (!isNginxInstalled()) say("nginx is not installed: its rows are left out");
  say("ratio: CPU time per request over the bare proxy's, median of the rounds; +p50, +p99: added on one connection\n");

  let missed = 0;
  const scenarios = LOAD_SCENARIOS.filter(({ name }) => isAsked(name));
  for (const scenario of scenarios) {
    const [missedOfScenario, seconds] = await timed(() => measureLoad(scenario, stage));
    missed += missedOfScenario;
    say(`  took ${seconds} s\n`);
  }
  const judged = await measureOthers(stage, isAsked);
  if (judged.length > 0) say(`\n${renderJudged(judged)}\n`);
  missed += countMissed(judged);
  if (options.hasProfile) {
    for (const scenario of scenarios) await profile(scenario, stage);
  }

  await stage.end();
  say(`the whole took ${(performance.now() / 60_000).toFixed(1)} minutes`);
  say(missed === 0 ? "every target reached" : `${missed} of the targets missed`);
  return missed;
}

async function measureLoad(scenario: LoadScenario, stage: Stage): Promise<number> {
  try {
    const contenders = await startContenders(scenario, stage);
    try {
      const measured = await runRounds({ ...stage, ...stage.options, scenario, contenders: contenders.all }, stage.ask);
      say(renderLoad(scenario, measured));
      const compared = compare(scenario, measured);
      if (compared.length > 0) say(renderJudged(compared));
      for (const reason of contenders.missing) say(`  ${reason}`);
      const ratio = measured.find(({ name }) => name === "gateway")?.ratio.median ?? Number.NaN;
      return countMissed(compared) + (judge(ratio, scenario.maxRatio) === "MISS" ? 1 : 0);
    } finally {
      await contenders.stop();
    }
  } catch (error) {
    say(`${scenario.name}: not measured: ${describe(error)}`);
    return 1;
  }
}

async function measureOthers(stage: Stage, isAsked: (name: string) => boolean): Promise<readonly Judged[]> {
  const { options, pieces, upstreamPort } = stage;
  const common = { gateway: options.gateway, upstreamPort, folder: pieces.folder };
  const judged: Judged[] = [];
  const measure = async (name: string, each: () => Promise<readonly Judged[]>): Promise<void> => {
    const [rows, seconds] = await timed(() => guarded(name, each));
    judged.push(...rows);
    say(`${name}: measured in ${seconds} s`);
  };
  if (isAsked("tls")) await measure("tls", () => measureTls(stage));
  if (isAsked("half-load")) await measure("half-load", () => measureHalfLoad(stage));
  if (isAsked("workers")) await measure("workers", () => measureWorkers(stage));
  if (isAsked("key-memory")) await measure("key-memory", () => measureKeyMemory(stage));
  if (isAsked("version")) judged.push(measureVersion({ ...common, runs: options.isQuick ? 7 : 21 }));
  if (isAsked("ready")) {
    for (const mode of ["flag", "config"] as const) {
      const runs = options.rounds;
      await measure(`ready: ${mode} mode`, async () => [await measureReady(mode, { ...common, runs })]);
    }
  }
  if (isAsked("rss")) {
    await measure("rss", async () => {
      const server = await startGateway({ file: options.gateway, mode: "flag", upstreamPort, folder: pieces.folder });
      const rows = await measureMemory(server, stage.scale, stage.ask);
      await server.stop();
      return rows;
    });
  }
  return judged;
}

async function profile(scenario: LoadScenario, stage: Stage): Promise<void> {
  const prepared = await prepare(stage, scenario.mode, scenario.shape);
  say(`${await profileScenario(scenario, prepared, stage.scale, stage.ask)}\n`);
}

/** A failed measurement is a miss in the table, so that the others are still shown. */
async function guarded(name: string, measure: () => Promise<readonly Judged[]>): Promise<readonly Judged[]> {
  try {
    return await measure();
  } catch (error) {
    return [{ name, value: "-", target: "", verdict: "MISS", detail: describe(error) }];
  }
}

/** Returns what `work` resolves to and how long it took, in whole seconds. */
async function timed<T>(work: () => Promise<T>): Promise<readonly [T, number]> {
  const startedAt = performance.now();
  const result = await work();
  return [result, Math.round((performance.now() - startedAt) / 1000)];
}

const countMissed = (judged: readonly Judged[]): number => judged.filter(({ verdict }) => verdict === "MISS").length;

function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

const options = readOptions();
if (options === undefined) {
  process.exitCode = 2;
} else {
  const missed = await run(options);
  process.exitCode = missed > 0 && options.isStrict ? 1 : 0;
}
