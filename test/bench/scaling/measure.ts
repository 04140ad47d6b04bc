/** Inputs of the model: clusters of several sizes under writes and idle, and the writes of a serving node. */

import { execFileSync } from "node:child_process";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { startPiece } from "../parts/children.ts";
import { CONFIG_MODEL } from "../parts/configuration.ts";
import { cpuMicros } from "../parts/process-usage.ts";
import { leaderOf, type NodesOptions, startCluster } from "../raft/nodes.ts";
import { endAll, load as loadNode } from "../raft/scenarios.ts";
import { load } from "../rounds.ts";
import type { Stage } from "../stage.ts";
import { makeKeyArchive } from "../state/archive.ts";
import { deploymentOf, SMALL } from "../state/deployment.ts";
import { callWell, restoreArchive, saveArchive, startStateNode } from "../state/node.ts";
import { requestCost } from "../state/request-cost.ts";
import type { ClusterPoint, NodeLoad } from "./model.ts";

const CLIENTS = 64;
const WRITE_SECONDS = 4;
const IDLE_SECONDS = 2;
const ENDLESS = Number.MAX_SAFE_INTEGER;
const KEYS = 1_000;
const SERVED = 20_000;

export async function measureCluster(nodes: number, options: NodesOptions): Promise<ClusterPoint> {
  const all = await startCluster(nodes, options);
  try {
    const leader = await leaderOf(all);
    const others = all.filter((node) => node !== leader);
    const shape = { what: "suspension", clients: CLIENTS, count: ENDLESS } as const;
    await loadNode(leader, { ...shape, seconds: 2 });
    const used = (): readonly [leader: number, others: number] => [
      cpuMicros(leader.pid),
      others.reduce((sum, { pid }) => sum + cpuMicros(pid), 0),
    ];
    const before = used();
    const sentBefore = sentBytes(leader.pid);
    const { writes } = await loadNode(leader, { ...shape, seconds: WRITE_SECONDS });
    await sleep(200);
    const after = used();
    const sent = sentBytes(leader.pid) - sentBefore;
    await sleep(1_000);
    const idle = used();
    await sleep(IDLE_SECONDS * 1e3);
    const idleAfter = used();
    const followers = others.length;
    return {
      followers,
      leaderUsAWrite: (after[0] - before[0]) / writes,
      followerUsAWrite: followers === 0 ? 0 : (after[1] - before[1]) / writes / followers,
      leaderUsIdle: (idleAfter[0] - idle[0]) / IDLE_SECONDS,
      bytesAWrite: followers === 0 ? 0 : sent / writes / followers,
    };
  } finally {
    await endAll(all);
  }
}

/** Bytes sent by the process on its open connections, by the kernel's count; NaN without `ss`. */
function sentBytes(pid: number): number {
  try {
    const text = execFileSync("ss", ["-tinpH"], { encoding: "utf8" });
    const sockets = text.split(/\n(?=\S)/).filter((socket) => socket.includes(`pid=${pid},`));
    return sockets.reduce((sum, socket) => sum + Number(/bytes_sent:(\d+)/.exec(socket)?.[1] ?? 0), 0);
  } catch {
    return Number.NaN;
  }
}

/** A governed node with a shared budget and a thousand keys in use, under full load. */
export async function measureServing(stage: Stage): Promise<NodeLoad> {
  const { folder, probe } = stage.pieces;
  const home = join(folder, "serving");
  await mkdir(home);
  const deployment = deploymentOf(SMALL, stage.upstreamPort, 0);
  const node = await startStateNode({ file: stage.options.gateway, probe, home, deployment });
  const bare = await startPiece(stage.pieces.bareProxy, [String(stage.upstreamPort)]);
  try {
    const saved = join(folder, "serving.tar.gz");
    await saveArchive(node, saved);
    const { path, credentials } = await makeKeyArchive(saved, KEYS, folder);
    await restoreArchive(node, path, KEYS);
    const { cpuUs } = await requestCost(stage, node, bare, credentials);
    const applied = async (): Promise<number> => {
      const { text } = await callWell(node, "GET", "/status");
      return (JSON.parse(text) as { readonly applied_index: number }).applied_index;
    };
    const shape = { kind: "unary", model: CONFIG_MODEL, credentials } as const;
    const before = await applied();
    const { seconds } = await load(stage.ask, { port: node.port, shape, connections: 32, requests: SERVED });
    return { requestUs: cpuUs, writesASecond: ((await applied()) - before) / seconds };
  } finally {
    await bare.stop();
    await node.stop();
  }
}
