/**
 * Changes through the local socket, each answered once it is committed, applied and its audit record is on the disk;
 * compared with the same command given directly to a single-node cluster, without HTTP, policy and audit. Rounds
 * alternate, since the speed of a shared disk varies. R, the raw rate, is the disk's own.
 */

import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { WriteFigures } from "../child/raft-load.ts";
import { cpuMicros } from "../parts/process-usage.ts";
import { compileNode } from "../raft/compile.ts";
import { type RaftNode, startAlone } from "../raft/nodes.ts";
import { measureRawRate } from "../raft/raw-rate.ts";
import { load as loadNode } from "../raft/scenarios.ts";
import { median, summarize } from "../statistics.ts";
import type { AdminBenchInputs, AdminScenario, Figure } from "./admin-scenario.ts";
import { type Plane, requestText, startPlane } from "./plane.ts";

export const WRITES: AdminScenario = { name: "writes", run: writes };

/** Clients, and total writes per round. */
const SIZES = [
  { clients: 1, count: 200 },
  { clients: 16, count: 2_000 },
] as const;
const ROUNDS = 7;
const QUICK_ROUNDS = 3;
const QUICK_SHARE = 0.25;
const SUBJECTS = 64;
const REASON = "r".repeat(400);

const TEXTS = Array.from({ length: SUBJECTS }, (_, number) =>
  requestText("PUT", `/suspensions/model:model-${number}`, { body: { reason: REASON } }),
);

const READ = requestText("GET", "/whoami");

interface Round {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly cpuUs: number;
  readonly cluster: WriteFigures;
  /** Duration of a read on the same connection: the cost of HTTP and the plane alone. */
  readonly readP50Ms: number;
  readonly raw: number;
}

async function writes(input: AdminBenchInputs): Promise<readonly Figure[]> {
  const folder = join(input.pieces.folder, "cluster");
  await mkdir(folder);
  const node = await startAlone({ file: await compileNode(folder), folder, nodeFlags: input.nodeFlags });
  const plane = await startPlane(input);
  try {
    const rounds = new Map(SIZES.map(({ clients }): [number, Round[]] => [clients, []]));
    const share = input.isQuick ? QUICK_SHARE : 1;
    // The first round is not counted, since code is compiled.
    for (let round = -1; round < (input.isQuick ? QUICK_ROUNDS : ROUNDS); round += 1) {
      for (const { clients, count } of SIZES) {
        const measured = await measure(input, plane, node, clients, Math.round(count * share));
        if (round >= 0) rounds.get(clients)?.push(measured);
      }
    }
    return [...rounds].flatMap(([clients, all]) => figures(clients, all));
  } finally {
    await plane.stop();
    await node.end();
  }
}

async function measure(
  input: AdminBenchInputs,
  plane: Plane,
  node: RaftNode,
  clients: number,
  count: number,
): Promise<Round> {
  const shared = { port: 0, socketPath: plane.socketPath, connections: clients } as const;
  const raw = measureRawRate(input.pieces.folder);
  const cluster = await loadNode(node, { what: "suspension", clients, seconds: 60, count });
  const cpuBefore = cpuMicros(plane.pid);
  const written = await input.load({ ...shared, shape: { kind: "texts", texts: TEXTS }, requests: count });
  const cpuUs = (cpuMicros(plane.pid) - cpuBefore) / count;
  const read = await input.load({ ...shared, shape: { kind: "texts", texts: [READ] }, requests: count });
  return {
    perSecond: written.perSecond,
    p50Ms: written.p50Us / 1e3,
    p99Ms: written.p99Us / 1e3,
    cpuUs,
    cluster,
    readP50Ms: read.p50Us / 1e3,
    raw,
  };
}

function figures(clients: number, rounds: readonly Round[]): readonly Figure[] {
  const middle = (of: (round: Round) => number): number => median(rounds.map(of));
  const about = `writes, ${clients} ${clients === 1 ? "client" : "clients"}`;
  const rate = summarize(rounds.map(({ perSecond }) => perSecond));
  const beyond = rounds.map(({ p50Ms, cluster, readP50Ms }) => p50Ms - cluster.p50Ms - readP50Ms);
  return [
    {
      name: `${about}: a second`,
      value: rate.median,
      unit: "/s",
      aim: undefined,
      detail: `${rate.least.toFixed(0)}-${rate.most.toFixed(0)}; R ${middle(({ raw }) => raw).toFixed(0)}/s; CPU ${middle((it) => it.cpuUs).toFixed(0)} us a write`,
    },
    { name: `${about}: p50`, value: middle((it) => it.p50Ms), unit: "ms", aim: undefined, detail: "" },
    { name: `${about}: p99`, value: middle((it) => it.p99Ms), unit: "ms", aim: undefined, detail: "" },
    {
      name: `${about}: rate over that of the cluster alone`,
      value: middle(({ perSecond, cluster }) => perSecond / cluster.perSecond),
      unit: "times",
      aim: undefined,
      detail: `cluster alone ${middle((it) => it.cluster.perSecond).toFixed(0)}/s, p50 ${middle((it) => it.cluster.p50Ms).toFixed(1)} p99 ${middle((it) => it.cluster.p99Ms).toFixed(1)} ms`,
    },
    {
      name: `${about}: p50 that the audit record adds`,
      value: median(beyond),
      unit: "ms",
      aim: undefined,
      detail: `p50 less the cluster's and less that of a read (${middle((it) => it.readP50Ms).toFixed(1)} ms)`,
    },
  ];
}
