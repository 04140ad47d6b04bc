/** Nodes as child processes, single or as a cluster on the loopback, with their data directories in one folder. */

import { mkdirSync, mkdtempSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { ClusterOptions, ClusterStatus } from "../../../src/server/cluster/index.ts";
import { freePort } from "../../e2e/support/ports.ts";
import type { NodeAnswer, NodeQuestion } from "../child/raft-node.ts";
import { type Child, startAsked } from "../parts/children.ts";

export type OpenNode = ClusterOptions;
export type Done = Extract<NodeAnswer, { kind: "done" }>;

export interface RaftNode extends Child {
  readonly id: string;
  readonly options: OpenNode;
  /** Rejects on a failure. */
  ask(question: NodeQuestion): Promise<Done>;
  /** Acts like a power switch, except for the disk. */
  kill(): Promise<void>;
  /** Ends the cluster, then the process. */
  end(): Promise<void>;
}

export interface NodesOptions {
  /** The compiled node. */
  readonly file: string;
  readonly folder: string;
  readonly nodeFlags: readonly string[];
}

const SECRET = "a secret of the bench, long enough";
const LEADER_TIMEOUT_MS = 20_000;

export function startNode(options: OpenNode, { file, nodeFlags }: NodesOptions): RaftNode {
  const child = startAsked<NodeQuestion, NodeAnswer>(file, [], nodeFlags);
  const ask = async (question: NodeQuestion): Promise<Done> => {
    const answer = await child.ask(question);
    if (answer.kind === "failed") throw new Error(`${options.nodeId}, ${question.kind}: ${answer.reason}`);
    return answer;
  };
  return {
    ...child,
    id: options.nodeId,
    options,
    ask,
    async kill() {
      process.kill(child.pid, "SIGKILL");
      while (!child.hasEnded()) await sleep(1);
    },
    async end() {
      await ask({ kind: "close" });
      await child.stop();
    },
  };
}

const common = {
  previousSecret: undefined,
  rejoin: undefined,
  deadAfterMs: undefined,
  version: "0.1.0",
  minFreeBytes: 64 << 20,
} as const;

const dataDir = (folder: string, id: string): string => {
  const parent = mkdtempSync(join(folder, "data-"));
  const path = join(parent, id);
  mkdirSync(path, { mode: 0o700 });
  return path;
};

/** A single-node cluster that other nodes can join. */
export async function startAlone(options: NodesOptions): Promise<RaftNode> {
  const node = startNode(await describeNode("n1", { kind: "bootstrap" }, options), options);
  await node.ask({ kind: "open", options: node.options });
  return node;
}

export async function describeNode(
  id: string,
  start: ClusterOptions["start"],
  { folder }: NodesOptions,
): Promise<OpenNode> {
  const raftAddr = `127.0.0.1:${await freePort()}`;
  const forwardAddr = `127.0.0.1:${await freePort()}`;
  return {
    ...common,
    nodeId: id,
    dataDir: dataDir(folder, id),
    secret: SECRET,
    start,
    raftAddr,
    forwardAddr,
    advertise: raftAddr,
    forwardAdvertise: forwardAddr,
  };
}

/** A cluster of `count` nodes with their address lists; resolves when one leads. */
export async function startCluster(count: number, options: NodesOptions): Promise<RaftNode[]> {
  const blank = { kind: "bootstrap" } as const;
  const ids = Array.from({ length: count }, (_, at) => `n${at + 1}`);
  const described: OpenNode[] = [];
  for (const id of ids) described.push(await describeNode(id, blank, options));
  const peers = described.map(({ nodeId, raftAddr, forwardAddr }) => ({ id: nodeId, raftAddr, forwardAddr }));
  const nodes = described.map((one) => startNode({ ...one, start: { kind: "peers", peers } }, options));
  await Promise.all(nodes.map((node) => node.ask({ kind: "open", options: node.options })));
  await Promise.all(nodes.map((node) => node.ask({ kind: "first-write" })));
  return nodes;
}

async function statusOf(node: RaftNode): Promise<ClusterStatus> {
  const { value } = await node.ask({ kind: "status" });
  if (value.status === undefined) throw new Error(`${node.id} reported no status`);
  return value.status;
}

/** Waits until one of the nodes leads and reports it. */
export async function leaderOf(nodes: readonly RaftNode[]): Promise<RaftNode> {
  const deadline = performance.now() + LEADER_TIMEOUT_MS;
  while (performance.now() < deadline) {
    for (const node of nodes) if ((await statusOf(node)).role === "leader") return node;
    await sleep(20);
  }
  throw new Error("nobody leads");
}
