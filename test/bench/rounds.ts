/**
 * One load scenario, measured in rounds: one contender after the other, then in reverse order. Disturbances of the
 * machine then affect all alike; a ratio is computed within a round, and the median of the rounds is reported.
 *
 * CPU time is read around a closed loop on many connections, including work left by the answers. Added latency is
 * measured on one connection, where no request waits for another: the answer time through the contender minus that of
 * the upstream itself.
 */

import { setTimeout as sleep } from "node:timers/promises";
import type { LoadJob, LoadResult } from "./child/load.ts";
import type { RequestShape } from "./child/requests.ts";
import type { Piece } from "./parts/children.ts";
import type { ForeignName } from "./parts/foreign.ts";
import { cpuMicros, residentBytes } from "./parts/process-usage.ts";
import type { LoadScenario } from "./scenarios.ts";
import { type Summary, summarize } from "./statistics.ts";

export type RunLoad = (job: LoadJob) => Promise<LoadResult>;

export interface Contender {
  readonly name: "bare" | "nginx" | "gateway" | "many keys" | "bytes" | "governed" | "other build" | ForeignName;
  readonly server: Piece;
  readonly shape: RequestShape;
  /** Share of the scenario's requests; 1 by default. */
  readonly share?: number;
}

export interface Measured {
  /** Requests per round at full load. */
  readonly requests: number;
  readonly name: Contender["name"];
  readonly cpuUs: Summary;
  /** Values of each round, in order. */
  readonly cpuUsOfRounds: readonly number[];
  /** CPU time per request over that of the bare proxy in the same round. */
  readonly ratio: Summary;
  readonly perSecond: Summary;
  readonly addedP50Us: Summary;
  readonly addedP99Us: Summary;
  /** Time to the head of an answer. */
  readonly addedFirstUs: Summary;
  readonly rssMib: number;
}

interface Sample {
  readonly cpuUs: number;
  readonly perSecond: number;
  readonly addedP50Us: number;
  readonly addedP99Us: number;
  readonly addedFirstUs: number;
}

interface RoundsOptions {
  readonly scenario: LoadScenario;
  readonly upstreamPort: number;
  readonly contenders: readonly Contender[];
  readonly rounds: number;
  /** Share of the scenario's load: 1, or 0.1 for a quick look. */
  readonly scale: number;
}

/** Returns the number of streams that the upstream has answered. */
async function streamsOf(upstreamPort: number): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${upstreamPort}/counts`);
  return ((await response.json()) as { readonly streams: number }).streams;
}

export async function runRounds(options: RoundsOptions, ask: RunLoad): Promise<readonly Measured[]> {
  const { scenario, contenders } = options;
  const { connections } = scenario;
  const scaled = (requests: number): number => Math.max(connections, Math.round(requests * options.scale));
  const full = ({ shape, share = 1 }: Contender) => ({
    shape,
    connections,
    requests: scaled(scenario.requests * share),
  });
  const alone = ({ shape, share = 1 }: Pick<Contender, "shape" | "share">) => ({
    shape,
    connections: 1,
    requests: scaled(scenario.latencyRequests * share),
  });
  const samples = contenders.map((): Sample[] => []);

  for (const contender of contenders) {
    // A smaller share would be too little for the engine to compile hot code.
    const requests = Math.max(connections, Math.round(scenario.requests * (contender.share ?? 1)));
    const before = await streamsOf(options.upstreamPort);
    await load(ask, { ...full(contender), requests, port: contender.server.port });
    const streams = (await streamsOf(options.upstreamPort)) - before;
    if (contender.shape.kind === "stream" && streams < requests) {
      throw new Error(`${contender.name}: of ${requests} requests, ${streams} reached the upstream as streams`);
    }
  }
  for (let round = 0; round < options.rounds; round += 1) {
    const direct = await load(ask, { ...alone({ shape: scenario.shape }), port: options.upstreamPort });
    // Reverses the order every second time, so that no contender always follows the same one.
    const order = [...contenders.entries()];
    for (const [index, contender] of round % 2 === 0 ? order : order.reverse()) {
      const { port, pid } = contender.server;
      const job = full(contender);
      const before = cpuMicros(pid);
      const loaded = await load(ask, { ...job, port });
      await waitForRest(pid);
      const cpuUs = (cpuMicros(pid) - before) / job.requests;
      const through = await load(ask, { ...alone(contender), port });
      const addedP50Us = through.p50Us - direct.p50Us;
      samples[index]?.push({
        cpuUs,
        perSecond: loaded.perSecond,
        addedP50Us,
        addedP99Us: through.p99Us - direct.p99Us,
        addedFirstUs: through.firstP50Us - direct.firstP50Us,
      });
    }
  }

  const bare = samples[contenders.findIndex(({ name }) => name === "bare")] ?? [];
  return contenders.map((contender, index) => {
    const { name, server } = contender;
    const own = samples[index] ?? [];
    return {
      requests: full(contender).requests,
      name,
      cpuUsOfRounds: own.map((sample) => sample.cpuUs),
      cpuUs: summarize(own.map((sample) => sample.cpuUs)),
      ratio: summarize(own.map((sample, round) => sample.cpuUs / (bare[round]?.cpuUs ?? Number.NaN))),
      perSecond: summarize(own.map((sample) => sample.perSecond)),
      addedP50Us: summarize(own.map((sample) => sample.addedP50Us)),
      addedP99Us: summarize(own.map((sample) => sample.addedP99Us)),
      addedFirstUs: summarize(own.map((sample) => sample.addedFirstUs)),
      rssMib: residentBytes(server.pid) / 2 ** 20,
    };
  });
}

const REST_WINDOW_MS = 25;
/** Share of one core below which a process counts as idle. */
const REST_SHARE = 0.1;
/** Later work does not belong to the load. */
const REST_TIMEOUT_MS = 10_000;

/** Records are signed, memory is collected and code is compiled after the answers are sent. */
export async function waitForRest(pid: number): Promise<void> {
  const deadline = performance.now() + REST_TIMEOUT_MS;
  let used = Number.POSITIVE_INFINITY;
  while (used > REST_SHARE * REST_WINDOW_MS * 1e3 && performance.now() < deadline) {
    const before = cpuMicros(pid);
    await sleep(REST_WINDOW_MS);
    used = cpuMicros(pid) - before;
  }
}

/** Runs a job whose every answer was good; a figure with failures would be worthless. */
export async function load(ask: RunLoad, job: LoadJob): Promise<Extract<LoadResult, { kind: "done" }>> {
  const result = await ask(job);
  if (result.kind === "broken") throw new Error(`load: ${result.reason}`);
  const { failures, failedWith } = result;
  if (failures > 0)
    throw new Error(`load: ${failures} of ${job.requests} answers were not 2xx, the last ${failedWith}`);
  return result;
}
