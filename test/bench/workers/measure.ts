/**
 * The data plane in one process and in two: CPU per request with the node process's share, on as many connections as a
 * load balancer keeps; an operator's change while all of that is busy; and the prediction for more cores. Two cores
 * cannot show throughput, since the load and the upstream use theirs, so CPU is compared.
 */
import { createAdminClient } from "../../../src/admin-api/index.ts";
import { type Piece, startPiece } from "../parts/children.ts";
import { CONFIG_MODEL, socketIn } from "../parts/configuration.ts";
import { type StartedGateway, startGateway } from "../parts/gateway.ts";
import { childrenOf, threadMicros } from "../parts/process-usage.ts";
import { type Judged, judge } from "../report.ts";
import { load, waitForRest } from "../rounds.ts";
import { type Prepared, prepare, type Stage } from "../stage.ts";
import { median, percentile, summarize } from "../statistics.ts";
import { type Machine, predict, type RequestCost } from "./model.ts";

const MODES = ["config", "governed", "recorded"] as const;
const CONNECTIONS = 64;
const REQUESTS = 7_500;
const WARM_RUNS = 3;
/** Sequential changes by one operator. */
const WRITES = 200;
const MAX_CPU_RATIO = 1.08;
const MAX_NODE_SHARE = 0.1;
const MAX_WRITE_RATIO = 3;
const MACHINES: readonly Machine[] = [
  { cores: 16, workers: 8 },
  { cores: 16, workers: 14 },
  { cores: 64, workers: 8 },
  { cores: 64, workers: 60 },
];

type Mode = (typeof MODES)[number];

export async function measureWorkers(stage: Stage): Promise<readonly Judged[]> {
  const judged: Judged[] = [await measureBare(stage)];
  for (const mode of MODES) judged.push(...(await measureMode(stage, mode)));
  judged.push(...(await measureWrites(stage)));
  return judged;
}

interface Sample {
  readonly total: number;
  readonly cost: RequestCost;
  readonly perSecond: number;
}

async function measureMode(stage: Stage, mode: Mode): Promise<readonly Judged[]> {
  const { options } = stage;
  const started: { readonly count: number; readonly own: Prepared; readonly server: StartedGateway }[] = [];
  const samples = new Map<number, Sample[]>([1, 2].map((count) => [count, []]));
  try {
    for (let round = 0; round < options.rounds; round += 1) {
      for (const count of round % 2 === 0 ? [2, 1] : [1, 2]) {
        // One after the other in the folder of the keys, which one process at a time may use.
        const own = await prepare(stage, mode, { kind: "unary", model: CONFIG_MODEL });
        const server = await startGateway({ ...own.gateway, env: { GATEWAY_WORKERS: `${count}` } });
        started.push({ count, own, server });
        // Each process compiles its hot code for itself.
        for (let warm = 0; warm < WARM_RUNS * count; warm += 1) await run(stage, server, own);
        const sample = await run(stage, server, own);
        samples.get(count)?.push(sample);
        await server.stop();
        started.pop();
      }
    }
  } finally {
    for (const { server } of started) await server.stop();
  }
  return figures(mode, samples.get(1) ?? [], samples.get(2) ?? []);
}

const requestsOf = ({ scale }: Stage): number => Math.max(CONNECTIONS, Math.round(REQUESTS * scale));

/** The same for the bare proxy, twice without communication: the cost of any second process on this machine. */
async function measureBare(stage: Stage): Promise<Judged> {
  const { pieces, upstreamPort, options } = stage;
  const { shape } = await prepare(stage, "flag", { kind: "unary", model: CONFIG_MODEL });
  const costs = new Map<number, number[]>([1, 2].map((count) => [count, []]));
  for (let round = 0; round < options.rounds; round += 1) {
    for (const count of round % 2 === 0 ? [2, 1] : [1, 2]) {
      const servers: Piece[] = [];
      try {
        for (let at = 0; at < count; at += 1) {
          servers.push(await startPiece(pieces.bareProxy, [String(upstreamPort)]));
        }
        const [{ port = 0 } = {}, other] = servers;
        const requests = requestsOf(stage);
        const job = { port, ...(other && { otherPort: other.port }), shape, connections: CONNECTIONS, requests };
        for (let warm = 0; warm < WARM_RUNS * count; warm += 1) await load(stage.ask, job);
        const before = servers.map(({ pid }) => microsOf(pid));
        await load(stage.ask, job);
        for (const { pid } of servers) await waitForRest(pid);
        const used = servers.map(({ pid }, at) => microsOf(pid) - (before[at] ?? 0));
        costs.get(count)?.push(used.reduce((sum, micros) => sum + micros, 0) / requests);
      } finally {
        for (const server of servers) await server.stop();
      }
    }
  }
  const [one = [], two = []] = costs.values();
  const ratio = summarize(two.map((cost, round) => cost / (one[round] ?? Number.NaN)));
  return {
    name: "workers: of the bare proxy, CPU a request of two over one",
    value: ratio.median.toFixed(2),
    target: "",
    verdict: "",
    detail: `${ratio.least.toFixed(2)}-${ratio.most.toFixed(2)}; ${median(one).toFixed(1)} and ${median(two).toFixed(1)} us`,
  };
}

const microsOf = (pid: number): number => [...threadsOf(pid).values()].reduce((sum, micros) => sum + micros, 0);

async function run(stage: Stage, server: StartedGateway, { shape }: Prepared): Promise<Sample> {
  const requests = requestsOf(stage);
  const pids = [server.pid, ...childrenOf(server.pid)];
  const before = pids.map(threadsOf);
  const { perSecond } = await load(stage.ask, { port: server.port, shape, connections: CONNECTIONS, requests });
  for (const pid of pids) await waitForRest(pid);
  const [node, ...workers] = pids.map((pid, at) => {
    const then = before[at] ?? new Map<number, number>();
    const now = threadsOf(pid);
    const used = Array.from(now, ([id, micros]) => ({ id, micros: (micros - (then.get(id) ?? 0)) / requests }));
    const main = used.find(({ id }) => id === pid)?.micros ?? 0;
    const others = used.filter(({ id }) => id !== pid).map(({ micros }) => micros);
    return { main, most: Math.max(0, ...others), all: main + others.reduce((sum, it) => sum + it, 0) };
  });
  if (node === undefined) throw new Error("no process was measured");
  const ofWorkers = workers.reduce((sum, { main, all }) => ({ main: sum.main + main, all: sum.all + all }), {
    main: 0,
    all: 0,
  });
  return {
    total: node.all + ofWorkers.all,
    perSecond,
    cost: {
      worker: ofWorkers.main,
      workerRest: ofWorkers.all - ofWorkers.main,
      node: node.main,
      nodeThread: node.most,
      nodeRest: node.all - node.main - node.most,
    },
  };
}

const threadsOf = (pid: number): ReadonlyMap<number, number> =>
  new Map(threadMicros(pid).map(({ id, micros }) => [id, micros]));

function figures(mode: Mode, one: readonly Sample[], two: readonly Sample[]): readonly Judged[] {
  const ratio = summarize(two.map(({ total }, round) => total / (one[round]?.total ?? Number.NaN)));
  const middle = (of: (cost: RequestCost) => number): number => median(two.map(({ cost }) => of(cost)));
  const cost: RequestCost = {
    worker: middle(({ worker }) => worker),
    workerRest: middle(({ workerRest }) => workerRest),
    node: middle(({ node }) => node),
    nodeThread: middle(({ nodeThread }) => nodeThread),
    nodeRest: middle(({ nodeRest }) => nodeRest),
  };
  const total = median(two.map((it) => it.total));
  const share = cost.node / total;
  const us = (value: number): string => value.toFixed(1);
  return [
    {
      name: `workers, ${mode}: CPU a request of two over one`,
      value: ratio.median.toFixed(2),
      target: MAX_CPU_RATIO.toFixed(2),
      verdict: judge(ratio.median, MAX_CPU_RATIO),
      detail:
        `${ratio.least.toFixed(2)}-${ratio.most.toFixed(2)}; ${us(median(one.map((it) => it.total)))} and ` +
        `${us(total)} us; ${median(one.map((it) => it.perSecond)).toFixed(0)} and ` +
        `${median(two.map((it) => it.perSecond)).toFixed(0)} requests a second beside their load`,
    },
    {
      name: `workers, ${mode}: of which on the node process's main thread`,
      value: share.toFixed(3),
      target: MAX_NODE_SHARE.toFixed(3),
      verdict: judge(share, MAX_NODE_SHARE),
      detail: `${us(cost.node)} us; its other threads ${us(cost.nodeThread + cost.nodeRest)}, workers ${us(cost.worker)} + ${us(cost.workerRest)}`,
    },
    ...MACHINES.map((machine): Judged => {
      const { perSecond, saturates, nodeBusy } = predict(cost, machine);
      return {
        name: `workers, ${mode}: model of ${machine.cores} cores, ${machine.workers} processes`,
        value: `${Math.round(perSecond / 1e3)} k/s`,
        target: "",
        verdict: "",
        detail: `${saturates} first; node process ${Math.round(nodeBusy * 100)} % busy`,
      };
    }),
  ];
}

/** Changes of the state with an idle and with a busy data plane. */
async function measureWrites(stage: Stage): Promise<readonly Judged[]> {
  const judged: Judged[] = [];
  for (const count of [1, 2]) {
    const own = await prepare(stage, "governed", { kind: "unary", model: CONFIG_MODEL });
    const { home } = own.gateway;
    if (home === undefined) throw new Error("a gateway that governs has a folder");
    const server = await startGateway({ ...own.gateway, env: { GATEWAY_WORKERS: `${count}` } });
    const client = createAdminClient({ address: { kind: "socket", path: socketIn(home) } });
    const write = async (at: number): Promise<number> => {
      const since = performance.now();
      const params = { kind: "model", name: `model-${at % 64}` } as const;
      await client.call("put_suspension", { params, body: { reason: "measured" } });
      return performance.now() - since;
    };
    try {
      await run(stage, server, own);
      const idle: number[] = [];
      for (let at = -20; at < WRITES * stage.scale; at += 1) {
        const ms = await write(at + 20);
        if (at >= 0) idle.push(ms);
      }
      const busy: number[] = [];
      let isOver = false;
      const loading = run(stage, server, own).then(() => run(stage, server, own));
      const over = loading.finally(() => {
        isOver = true;
      });
      while (!isOver) busy.push(await write(busy.length));
      await over;
      const ratio = percentile(busy, 0.99) / percentile(idle, 0.99);
      const ms = (values: readonly number[]): string =>
        `p50 ${median(values).toFixed(1)} p99 ${percentile(values, 0.99).toFixed(1)} ms (${values.length})`;
      judged.push({
        name: `workers: p99 of a change under load over idle, ${count} ${count === 1 ? "process" : "processes"}`,
        value: ratio.toFixed(1),
        target: count === 1 ? "" : MAX_WRITE_RATIO.toFixed(1),
        verdict: count === 1 ? "" : judge(ratio, MAX_WRITE_RATIO),
        detail: `idle ${ms(idle)}, busy ${ms(busy)}`,
      });
    } finally {
      client.close();
      await server.stop();
    }
  }
  return judged;
}
