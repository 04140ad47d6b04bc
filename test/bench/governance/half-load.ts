/**
 * Latency that the governed gateway adds at half of its saturation rate: requests are sent at that rate whether or not
 * earlier ones are answered, to the upstream directly, through the bare proxy and through the gateway in turn. Reported
 * are the addition to the upstream's own latency, and that of the bare proxy.
 */

import { startPiece } from "../parts/children.ts";
import { CONFIG_MODEL } from "../parts/configuration.ts";
import { startGateway } from "../parts/gateway.ts";
import { type Judged, judge } from "../report.ts";
import { load } from "../rounds.ts";
import { MAX_HALF_LOAD_ADDED_US } from "../scenarios.ts";
import { prepare, type Stage } from "../stage.ts";
import { type Summary, summarize } from "../statistics.ts";
import { checkGoverned } from "./check.ts";

const CLIENTS = 32;
const SATURATING_REQUESTS = 15_000;
/** Many more than are in use at half load, so that none waits for one. */
const CONNECTIONS = 128;
const SECONDS = 2;
const QUICK_SECONDS = 1;

interface Round {
  readonly perSecond: number;
  readonly addedP50Us: number;
  readonly addedP99Us: number;
  readonly bareP50Us: number;
  readonly bareP99Us: number;
}

export async function measureHalfLoad(stage: Stage): Promise<readonly Judged[]> {
  const { pieces, upstreamPort, options } = stage;
  const own = await prepare(stage, "governed", { kind: "unary", model: CONFIG_MODEL });
  const bare = await startPiece(pieces.bareProxy, [String(upstreamPort)]);
  const gateway = await startGateway(own.gateway);
  try {
    await checkGoverned(own, gateway);
    const saturate = async (port: number): Promise<number> => {
      const requests = Math.max(CLIENTS, SATURATING_REQUESTS * stage.scale);
      return (await load(stage.ask, { port, shape: own.shape, connections: CLIENTS, requests })).perSecond;
    };
    await saturate(bare.port);
    await saturate(gateway.port);
    const rounds: Round[] = [];
    for (let round = 0; round < options.rounds; round += 1) {
      const perSecond = (await saturate(gateway.port)) / 2;
      const seconds = options.isQuick ? QUICK_SECONDS : SECONDS;
      const steady = (port: number) =>
        stage.steady({ port, shape: own.shape, perSecond, seconds, connections: CONNECTIONS });
      const direct = await steady(upstreamPort);
      const throughBare = await steady(bare.port);
      const through = await steady(gateway.port);
      rounds.push({
        perSecond,
        addedP50Us: through.p50Us - direct.p50Us,
        addedP99Us: through.p99Us - direct.p99Us,
        bareP50Us: throughBare.p50Us - direct.p50Us,
        bareP99Us: throughBare.p99Us - direct.p99Us,
      });
    }
    return describe(rounds);
  } finally {
    await gateway.stop();
    await bare.stop();
  }
}

function describe(rounds: readonly Round[]): readonly Judged[] {
  const of = (read: (round: Round) => number): Summary => summarize(rounds.map(read));
  const rate = of(({ perSecond }) => perSecond).median.toFixed(0);
  const added = of(({ addedP50Us }) => addedP50Us);
  const over = of(({ addedP50Us, bareP50Us }) => addedP50Us - bareP50Us);
  const p99 = of(({ addedP99Us }) => addedP99Us);
  return [
    {
      name: `half-load: added p50, governed, ${rate} requests a second`,
      value: `${added.median.toFixed(0)} us`,
      target: `${MAX_HALF_LOAD_ADDED_US} us`,
      verdict: judge(added.median, MAX_HALF_LOAD_ADDED_US),
      detail: `${range(added)}; the bare proxy adds ${of(({ bareP50Us }) => bareP50Us).median.toFixed(0)}`,
    },
    {
      name: "half-load: of which over the bare proxy",
      value: `${over.median.toFixed(0)} us`,
      target: "",
      verdict: "",
      detail: range(over),
    },
    {
      name: "half-load: added p99",
      value: `${p99.median.toFixed(0)} us`,
      target: "",
      verdict: "",
      detail: `${range(p99)}; the bare proxy adds ${of(({ bareP99Us }) => bareP99Us).median.toFixed(0)}`,
    },
  ];
}

const range = ({ least, most }: Summary): string => `${least.toFixed(0)}-${most.toFixed(0)}`;
