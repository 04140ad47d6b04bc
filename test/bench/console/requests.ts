/**
 * The view `requests` of a gateway with 5,000 requests a second: latency of a key, cost of the console, and effect on
 * the data plane. Generator, upstream, gateway and console share the machine; the table shows the reached rate. Every
 * figure has its counterpart without a console.
 */

import type { TestTerminal } from "../../console/support/terminal.ts";
import { parseBenchOptions } from "../options.ts";
import { CONFIG_MODEL, socketIn } from "../parts/configuration.ts";
import type { Figure } from "../parts/figures.ts";
import { startGateway } from "../parts/gateway.ts";
import { cpuMicros } from "../parts/process-usage.ts";
import type { Scenario } from "../parts/scenario.ts";
import { openStage, prepare } from "../stage.ts";
import { percentile } from "../statistics.ts";
import { onStage, openConsole, openEndpoint, pause, quit, type StageOptions, written } from "./stage.ts";

const PER_SECOND = 5_000;
const SECONDS = 12;
/** Many more than are ever in use. */
const CONNECTIONS = 256;
const WARM_SECONDS = 3;
/** Share of the rate that a sufficient machine answers in time. */
const KEPT_UP = 0.97;
/** Alternating, so that a disturbance does not affect one side only. */
const ROUNDS = 2;
/** Pause between a frame and the next key: a person is slower. */
const KEY_PAUSE_MS = 60;

interface Load {
  readonly perSecond: number;
  readonly p50Us: number;
  readonly p99Us: number;
  /** CPU time of the gateway per request. */
  readonly cpuUs: number;
}

/** Types letters into a filter prompt, which the list follows, one at a time until the load ends. */
async function type(terminal: TestTerminal, isOver: () => boolean): Promise<readonly number[]> {
  const took: number[] = [];
  while (!isOver()) {
    await terminal.press("/");
    for (let at = 1; at <= 6 && !isOver(); at += 1) {
      await pause(KEY_PAUSE_MS);
      const sought = "p10-chat".slice(0, at);
      const begunAt = performance.now();
      terminal.type(sought.at(-1) ?? "");
      await terminal.until((screen) => screen.includes(`/${sought}`) || screen.includes(`/ ${sought}`), sought);
      took.push(performance.now() - begunAt);
    }
    await terminal.press("esc");
    await pause(KEY_PAUSE_MS);
  }
  return took;
}

/** The same list from a stub whose recorder is fed at the rate, for a machine too small for that load and a console. */
export const RECORDED: Scenario<StageOptions> = {
  name: "requests-recorded",
  run: (input) =>
    onStage(async (owner) => {
      const ms = (input.isQuick ? SECONDS / 4 : SECONDS) * 1_000;
      const endpoint = await openEndpoint(owner, 10);
      const terminal = openConsole(owner, endpoint, input);
      await terminal.until("Overview");
      await endpoint.configure({ changes: 0, tables: [], requests: PER_SECOND });
      await terminal.press(":");
      terminal.type("requests\r");
      await terminal.until("p10-chat");
      const keys: number[] = [];
      const [cpu, from] = [cpuMicros(terminal.pid), performance.now()];
      const wrote = await written(terminal, async () => {
        keys.push(...(await type(terminal, () => performance.now() - from > ms)));
      });
      const elapsed = performance.now() - from;
      const coreShare = (cpuMicros(terminal.pid) - cpu) / (elapsed * 10);
      await quit(terminal);
      const frames = (wrote.frames * 1_000) / elapsed;
      return keyFigures(keys, { frames, bytes: wrote.bytes / wrote.frames, coreShare });
    }),
};

export const REQUESTS: Scenario<StageOptions> = {
  name: "requests",
  run: (input) =>
    onStage(async (owner) => {
      const stage = await openStage({ ...parseBenchOptions([]), isQuick: input.isQuick });
      owner.after(() => stage.end());
      const { gateway, shape } = await prepare(stage, "governed", { kind: "unary", model: CONFIG_MODEL });
      const server = await startGateway(gateway);
      owner.after(() => server.stop());
      const seconds = input.isQuick ? SECONDS / 4 : SECONDS;
      let rate = PER_SECOND;
      const load = async (ofSeconds: number): Promise<Load> => {
        const [cpu, from] = [cpuMicros(server.pid), performance.now()];
        const job = { port: server.port, shape, perSecond: rate, seconds: ofSeconds, connections: CONNECTIONS };
        const { answered, p50Us, p99Us } = await stage.steady(job);
        const took = (performance.now() - from) / 1_000;
        return { perSecond: answered / took, p50Us, p99Us, cpuUs: (cpuMicros(server.pid) - cpu) / answered };
      };
      await load(WARM_SECONDS);
      const { perSecond: most } = await load(WARM_SECONDS);
      // With every queue full, the console's effect cannot be separated from the load's own.
      if (most < PER_SECOND * KEPT_UP) rate = Math.round(most / 2);
      const alone: Load[] = [];
      const watched: Load[] = [];
      const keys: number[] = [];
      let frames = 0;
      let bytes = 0;
      let coreShare = 0;
      for (let round = 0; round < ROUNDS; round += 1) {
        alone.push(await load(seconds));
        const terminal = openConsole(owner, { socket: socketIn(gateway.home ?? gateway.folder) }, input);
        await terminal.until("Overview");
        await terminal.press(":");
        terminal.type("requests\r");
        await terminal.until(CONFIG_MODEL);
        let isOver = false;
        const [cpu, from] = [cpuMicros(terminal.pid), performance.now()];
        const wrote = await written(terminal, async () => {
          const typing = type(terminal, () => isOver);
          watched.push(await load(seconds));
          isOver = true;
          keys.push(...(await typing));
        });
        const elapsed = performance.now() - from;
        frames += (wrote.frames * 1_000) / elapsed / ROUNDS;
        bytes += wrote.bytes / wrote.frames / ROUNDS;
        coreShare += (cpuMicros(terminal.pid) - cpu) / (elapsed * 10) / ROUNDS;
        await quit(terminal);
      }
      const carried: Figure = {
        ...{ name: "requests a second, most", value: most, unit: "/s", aim: undefined },
        detail: `asked for: ${PER_SECOND}; the rounds are at ${rate}`,
      };
      return [carried, ...keyFigures(keys, { frames, bytes, coreShare }), ...loadFigures(alone, watched)];
    }),
};

const mean = (loads: readonly Load[], of: (load: Load) => number): number =>
  loads.reduce((sum, load) => sum + of(load), 0) / loads.length;

function keyFigures(
  took: readonly number[],
  { frames, bytes, coreShare }: { readonly frames: number; readonly bytes: number; readonly coreShare: number },
): readonly Figure[] {
  const key = (share: number, aim: number | undefined): Figure => ({
    name: `key to screen, p${share * 100}`,
    value: percentile(took, share),
    unit: "ms",
    aim: aim === undefined ? undefined : { atMost: aim },
    detail: `${took.length} keys into a filter, 2,000 rows that change`,
  });
  const own = { aim: undefined, detail: "" };
  return [
    key(0.5, 25),
    key(0.95, 50),
    key(0.99, undefined),
    { ...own, name: "frames a second", value: frames, unit: "/s" },
    { ...own, name: "bytes of a frame", value: bytes, unit: "bytes" },
    { ...own, name: "core, the console", value: coreShare, unit: "%" },
  ];
}

/** Beyond the normal variation of rounds. */
const MAX_SLOWDOWN = 1.25;

function loadFigures(alone: readonly Load[], watched: readonly Load[]): readonly Figure[] {
  const pair = (name: string, unit: string, of: (load: Load) => number, aim?: Figure["aim"]): readonly Figure[] => [
    { name: `${name}, no console`, value: mean(alone, of), unit, aim: undefined, detail: `${alone.length} rounds` },
    { name: `${name}, console open`, value: mean(watched, of), unit, aim, detail: "" },
  ];
  return [
    ...pair("requests a second", "/s", ({ perSecond }) => perSecond, {
      atLeast: mean(alone, ({ perSecond }) => perSecond) * 0.97,
    }),
    ...pair("answer, p50", "us", ({ p50Us }) => p50Us),
    ...pair("answer, p99", "us", ({ p99Us }) => p99Us, { atMost: mean(alone, ({ p99Us }) => p99Us) * MAX_SLOWDOWN }),
    ...pair("core, gateway, a request", "us", ({ cpuUs }) => cpuUs),
  ];
}
