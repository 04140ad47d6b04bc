/** Complete nodes with their worker threads in this process: single, or several over loopback TLS. */

import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { type OpenClusterOptions, openCluster } from "../../../../src/server/cluster/open-cluster.ts";
import type { Cluster, ClusterOptions, PeerAddress, WriteOptions } from "../../../../src/server/cluster/types.ts";
import { keyRowKey, type NamedCommand } from "../../../../src/server/core/state/index.ts";
import { freePort } from "../../../e2e/support/ports.ts";
import { makeDir } from "./archives.ts";
import { afterwards } from "./cleanup.ts";
import { keyCommand } from "./machine-bench.ts";
import { type LogLine, memoryLog, until } from "./outcome.ts";

export const BY = { iss: "local", sub: "unix:0" } as const;
const SECRET = "a secret of the tests, long enough";

export const options = (more: Partial<WriteOptions> = {}): WriteOptions => ({ by: BY, timeoutMs: 20_000, ...more });

export interface TestNode extends Cluster {
  readonly options: OpenClusterOptions;
  readonly lines: readonly LogLine[];
}

/** Returns ports without a listener. */
function freePorts(count: number): Promise<readonly number[]> {
  return Promise.all(Array.from({ length: count }, () => freePort()));
}

export function optionsAlone(dataDir: string, more: Partial<OpenClusterOptions> = {}): OpenClusterOptions {
  return {
    nodeId: "a",
    dataDir,
    secret: undefined,
    previousSecret: undefined,
    start: { kind: "bootstrap" },
    rejoin: undefined,
    deadAfterMs: undefined,
    raftAddr: "",
    forwardAddr: "",
    advertise: "",
    forwardAdvertise: "",
    version: "1.0.0",
    minFreeBytes: 0,
    log: memoryLog().log,
    ...more,
  };
}

/** Closed after the test in any case. */
export async function openFor(t: TestContext, settings: OpenClusterOptions): Promise<TestNode> {
  const { log, lines } = memoryLog();
  const cluster = await openCluster({ ...settings, log });
  afterwards(t, () => cluster.close());
  return Object.assign(cluster, { options: settings, lines });
}

export async function openAlone(t: TestContext, more: Partial<OpenClusterOptions> = {}): Promise<TestNode> {
  return await openFor(t, optionsAlone(more.dataDir ?? makeDir(t), more));
}

export async function addressesOf(ids: readonly string[]): Promise<readonly PeerAddress[]> {
  const ports = await freePorts(2 * ids.length);
  return ids.map((id, at) => ({
    id,
    raftAddr: `127.0.0.1:${ports[2 * at]}`,
    forwardAddr: `127.0.0.1:${ports[2 * at + 1]}`,
  }));
}

export function optionsOf(t: TestContext, own: PeerAddress, start: ClusterOptions["start"]): OpenClusterOptions {
  const { id, raftAddr, forwardAddr } = own;
  return optionsAlone(makeDir(t), {
    nodeId: id,
    secret: SECRET,
    start,
    raftAddr,
    forwardAddr,
    advertise: raftAddr,
    forwardAdvertise: forwardAddr,
  });
}

export async function openTogether(t: TestContext, ids: readonly string[]): Promise<readonly TestNode[]> {
  const peers = await addressesOf(ids);
  const nodes = await Promise.all(peers.map((own) => openFor(t, optionsOf(t, own, { kind: "peers", peers }))));
  await leaderOf(nodes);
  return nodes;
}

/** Resolves when all of them name the same leader, which is one of them and agrees. */
export async function leaderOf(nodes: readonly TestNode[]): Promise<TestNode> {
  const find = (): TestNode | undefined => {
    const leader = nodes.find((node) => node.status().role === "leader");
    const id = leader?.status().nodeId;
    return nodes.every((node) => node.status().leaderId === id) ? leader : undefined;
  };
  await until("one leader, known to all", () => find() !== undefined, 30_000);
  const found = find();
  assert.ok(found !== undefined);
  return found;
}

export async function writeKey(node: Cluster, name: string, more: Partial<WriteOptions> = {}): Promise<void> {
  const result = await node.write(keyCommand(name), options(more));
  assert.equal(result.kind, "ok", result.kind === "refused" ? result.code : "");
}

export const hasKey = ({ view }: Pick<Cluster, "view">, name: string): boolean =>
  view.get(keyRowKey(name)) !== undefined;

export const bigCommand = (bytes: number): NamedCommand => keyCommand("big", { text: "x".repeat(bytes) });

export function voterIds(node: Cluster): readonly string[] {
  return node
    .status()
    .members.filter(({ voter }) => voter)
    .map(({ id }) => id)
    .sort();
}
