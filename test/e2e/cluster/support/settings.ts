/** What a test decides about a node, and the two forms in which a process is told. */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { ClusterOptions } from "../../../../src/server/cluster/index.ts";
import { buildReplica } from "./replica-build.ts";

export type Begin =
  | { readonly kind: "bootstrap" }
  /** Of these nodes, this one included. */
  | { readonly kind: "peers"; readonly ids: readonly string[] }
  /** By way of these nodes; with a wait it starts a cluster of its own when all of them stay silent. */
  | { readonly kind: "join"; readonly through: readonly string[]; readonly bootstrapAfterMs?: number };

export interface Settings {
  readonly begin: Begin;
  readonly secret: string;
  readonly previousSecret?: string;
  readonly rejoinAfterMs?: number;
  readonly deadAfterMs?: number;
  /** Where the log and the state are; in the node's own folder if left out. */
  readonly dataDir?: string;
  /** Of a replica alone; a gateway has its default. */
  readonly minFreeBytes?: number;
}

/** Where a node listens, and what it tells of it. */
export interface Addresses {
  readonly raftListen: string;
  readonly forwardListen: string;
  readonly raft: string;
  readonly forward: string;
}

/** `gateway`: the program as it is built; `replica`: the cluster and nothing else, from the sources. */
export type ProgramKind = "gateway" | "replica";

export interface Placed {
  readonly id: string;
  /** The node's own folder. */
  readonly folder: string;
  readonly dataDir: string;
  readonly settings: Settings;
  addressesOf(id: string): Addresses;
}

export interface Command {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly socketPath: string | undefined;
}

const root = resolve(dirname(fileURLToPath(import.meta.url)), "../../../..");

export const GATEWAY = join(root, "bin/gateway");

/** Writes what the process reads, and says how to start it. */
export async function commandOf(program: ProgramKind, placed: Placed): Promise<Command> {
  return program === "gateway" ? await gatewayCommand(placed) : await replicaCommand(placed);
}

async function replicaCommand({ id, dataDir, settings, addressesOf }: Placed): Promise<Command> {
  const { begin } = settings;
  const own = addressesOf(id);
  const options: Omit<ClusterOptions, "rejoin" | "deadAfterMs" | "previousSecret"> & Record<string, unknown> = {
    nodeId: id,
    dataDir,
    secret: settings.secret,
    ...(settings.previousSecret !== undefined && { previousSecret: settings.previousSecret }),
    start:
      begin.kind === "bootstrap"
        ? begin
        : begin.kind === "peers"
          ? { kind: "peers", peers: begin.ids.map((peer) => peerOf(peer, addressesOf(peer))) }
          : {
              kind: "join",
              addresses: begin.through.map((peer) => addressesOf(peer).forward),
              bootstrapAfterMs: begin.bootstrapAfterMs,
            },
    ...(begin.kind === "join" && {
      rejoin: {
        addresses: begin.through.map((peer) => addressesOf(peer).forward),
        afterMs: settings.rejoinAfterMs ?? 30_000,
      },
    }),
    ...(settings.deadAfterMs !== undefined && { deadAfterMs: settings.deadAfterMs }),
    raftAddr: own.raftListen,
    forwardAddr: own.forwardListen,
    advertise: own.raft,
    forwardAdvertise: own.forward,
    version: "0.0.0",
    minFreeBytes: settings.minFreeBytes ?? 1 << 20,
  };
  return {
    command: [process.execPath, await buildReplica()],
    env: { NODE_OPTIONS_OF_CLUSTER: JSON.stringify(options), UV_THREADPOOL_SIZE: "16" },
    socketPath: undefined,
  };
}

async function gatewayCommand(placed: Placed): Promise<Command> {
  const { folder, settings } = placed;
  await mkdir(folder, { recursive: true });
  const socketPath = join(folder, "admin.sock");
  const path = join(folder, "node.yaml");
  await writeFile(join(folder, "deployment.yaml"), JSON.stringify(DEPLOYMENT));
  await writeFile(path, JSON.stringify(nodeFile(placed, socketPath)));
  const env = settings.previousSecret === undefined ? {} : { GATEWAY_CLUSTER_SECRET_PREVIOUS: settings.previousSecret };
  return { command: [process.execPath, GATEWAY, "-config", path], env, socketPath };
}

function nodeFile({ id, dataDir, settings, addressesOf }: Placed, socketPath: string): unknown {
  const { begin, secret, rejoinAfterMs, deadAfterMs } = settings;
  const own = addressesOf(id);
  return {
    listen: "127.0.0.1:0",
    metrics_listen: "none",
    deployment: "deployment.yaml",
    admin: { local_socket: socketPath },
    cluster: {
      node_id: id,
      data_dir: dataDir,
      secret,
      raft_addr: own.raftListen,
      forward_addr: own.forwardListen,
      advertise: own.raft,
      forward_advertise: own.forward,
      ...(begin.kind === "bootstrap" && { bootstrap: true }),
      ...(begin.kind === "peers" && {
        peers: begin.ids.map((peer) => {
          const { raft, forward } = addressesOf(peer);
          return { id: peer, raft_addr: raft, forward_addr: forward };
        }),
      }),
      ...(begin.kind === "join" && {
        join: begin.through.map((peer) => addressesOf(peer).forward),
        ...(begin.bootstrapAfterMs !== undefined && {
          bootstrap: true,
          bootstrap_wait: `${begin.bootstrapAfterMs}ms`,
        }),
        ...(rejoinAfterMs !== undefined && { rejoin_after: `${rejoinAfterMs}ms` }),
      }),
      ...(deadAfterMs !== undefined && { dead_after: `${deadAfterMs}ms` }),
    },
  };
}

function peerOf(id: string, { raft, forward }: Addresses) {
  return { id, raftAddr: raft, forwardAddr: forward };
}

const DEPLOYMENT = {
  providers: [{ name: "main", dialect: "compat", base_url: "http://127.0.0.1:9/v1" }],
};
