/**
 * `npm run bench`: the gateway beside the bare Node proxy, and beside nginx where installed; same run, same load, same
 * upstream. It measures and reports; misses are an exit status only with `--strict`.
 */

import { spawnSync } from "node:child_process";
import { cpus } from "node:os";
import type { LoadJob, LoadResult } from "./child/load.ts";
import { measureMemory } from "./memory.ts";
import { type BenchOptions, parseBenchOptions, USAGE } from "./options.ts";
import { startAsked, startPiece } from "./parts/children.ts";
import { compilePieces, type Pieces } from "./parts/compile.ts";
import { startGateway } from "./parts/gateway.ts";
import { isNginxInstalled, startNginx } from "./parts/nginx.ts";
import { profileScenario } from "./profile.ts";
import { type Judged, judge, renderJudged, renderLoad } from "./report.ts";
import { type Ask, type Contender, runRounds } from "./rounds.ts";
import { LOAD_SCENARIOS, type LoadScenario, OTHER_SCENARIOS } from "./scenarios.ts";
import { measureReady, measureVersion } from "./startup.ts";

interface Bench {
  readonly options: BenchOptions;
  readonly pieces: Pieces;
  readonly upstreamPort: number;
  readonly scale: number;
  readonly ask: Ask;
}

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
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
    return undefined;
  }
}

/** Runs what was asked for; gives how many targets were missed. */
async function run(options: BenchOptions): Promise<number> {
  const pieces = await compilePieces();
  const upstream = await startPiece(pieces.upstream, []);
  const generator = startAsked<LoadJob, LoadResult>(pieces.load);
  const bench: Bench = {
    options,
    pieces,
    upstreamPort: upstream.port,
    scale: options.isQuick ? 0.1 : 1,
    ask: (job) => generator.ask(job),
  };
  const isAsked = (name: string): boolean => options.only.length === 0 || options.only.includes(name);
  if (!isNginxInstalled()) say("nginx is not installed: its rows are left out");
  say("ratio: CPU time per request over the bare proxy's, median of the rounds; +p50, +p99: added on one connection\n");

  let missed = 0;
  const scenarios = LOAD_SCENARIOS.filter(({ name }) => isAsked(name));
  for (const scenario of scenarios) missed += await measureLoad(scenario, bench);
  const judged = await measureOthers(bench, isAsked);
  if (judged.length > 0) say(`${renderJudged(judged)}\n`);
  missed += judged.filter(({ verdict }) => verdict === "MISS").length;
  if (options.hasProfile) {
    for (const scenario of scenarios) await profile(scenario, bench);
  }

  await generator.stop();
  await upstream.stop();
  say(missed === 0 ? "every target reached" : `${missed} of the targets missed`);
  return missed;
}

async function measureLoad(scenario: LoadScenario, bench: Bench): Promise<number> {
  const { options, pieces, upstreamPort } = bench;
  const contenders: Contender[] = [];
  contenders.push({ name: "bare", server: await startPiece(pieces.bareProxy, [String(upstreamPort)]) });
  if (isNginxInstalled()) contenders.push({ name: "nginx", server: await startNginx(pieces.folder, upstreamPort) });
  try {
    const gateway = { file: options.gateway, mode: scenario.mode, upstreamPort, folder: pieces.folder };
    contenders.push({ name: "gateway", server: await startGateway(gateway) });
    const measured = await runRounds({ ...bench, ...options, scenario, contenders }, bench.ask);
    say(`${renderLoad(scenario, measured)}\n`);
    const ratio = measured.find(({ name }) => name === "gateway")?.ratio.median ?? Number.NaN;
    return judge(ratio, scenario.maxRatio) === "MISS" ? 1 : 0;
  } catch (error) {
    say(`${scenario.name}: not measured: ${error instanceof Error ? error.message : String(error)}\n`);
    return 1;
  } finally {
    for (const { server } of contenders) await server.stop();
  }
}

async function measureOthers(bench: Bench, isAsked: (name: string) => boolean): Promise<readonly Judged[]> {
  const { options, pieces, upstreamPort } = bench;
  const common = { gateway: options.gateway, upstreamPort, folder: pieces.folder };
  const judged: Judged[] = [];
  if (isAsked("version")) judged.push(measureVersion({ ...common, runs: options.isQuick ? 7 : 21 }));
  if (isAsked("ready")) {
    for (const mode of ["flag", "config"] as const) {
      judged.push(
        ...(await guarded(`ready: ${mode} mode`, async () => [
          await measureReady(mode, { ...common, runs: options.rounds }),
        ])),
      );
    }
  }
  if (isAsked("rss")) {
    judged.push(
      ...(await guarded("rss", async () => {
        const server = await startGateway({ file: options.gateway, mode: "flag", upstreamPort, folder: pieces.folder });
        const rows = await measureMemory(server, bench.scale, bench.ask);
        await server.stop();
        return rows;
      })),
    );
  }
  return judged;
}

async function profile(scenario: LoadScenario, bench: Bench): Promise<void> {
  const { options, pieces, upstreamPort } = bench;
  const gateway = { file: options.gateway, upstreamPort, folder: pieces.folder };
  say(`${await profileScenario(scenario, gateway, bench.scale, bench.ask)}\n`);
}

/** A measurement that cannot be made is a miss in the table, so that the others are still shown. */
async function guarded(name: string, measure: () => Promise<readonly Judged[]>): Promise<readonly Judged[]> {
  try {
    return await measure();
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    return [{ name, value: "-", target: "", verdict: "MISS", detail }];
  }
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
