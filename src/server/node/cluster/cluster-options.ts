/**
 * Converts `cluster` of the node file into the cluster's options: durations in milliseconds, with defaults, and with omitted
 * values from this node's entry of `peers`. The file has been validated. Source: specification document 2, `cluster`.
 */
import { parseDuration } from "../../../base/index.ts";
import type { ClusterOptions } from "../../cluster/index.ts";
import type { NodeFile } from "../../core/config/index.ts";

interface ClusterInputs {
  /** Absolute path of `cluster.data_dir`; `undefined` if it is omitted. */
  readonly dataDir: string | undefined;
  /** Value of `GATEWAY_CLUSTER_SECRET_PREVIOUS`; empty means not set. */
  readonly previousSecret: string | undefined;
  /** Version of the executable. */
  readonly version: string;
  /** Defaults to 256 MiB (cluster reference, section 3.4). */
  readonly minFreeBytes?: number;
}

const MIN_FREE_BYTES = 256 * 1024 * 1024;

export function clusterOptionsOf({ cluster }: NodeFile, inputs: ClusterInputs): ClusterOptions {
  const { node_id: nodeId, secret, join, peers = [] } = cluster;
  const own = peers.find(({ id }) => id === nodeId);
  // Without a secret a member cannot authenticate its peers, so no raft listener is opened.
  const listens = secret !== undefined;
  const raftAddr = listens ? cluster.raft_addr || own?.raft_addr || "" : "";
  const forwardAddr = listens ? cluster.forward_addr || own?.forward_addr || "" : "";
  return {
    nodeId,
    dataDir: inputs.dataDir,
    secret,
    previousSecret: inputs.previousSecret || undefined,
    start: startOf(cluster),
    rejoin: join && { addresses: join, afterMs: milliseconds(cluster.rejoin_after) },
    deadAfterMs: cluster.dead_after ? milliseconds(cluster.dead_after) : undefined,
    raftAddr,
    forwardAddr,
    // Peers are dialed at the addresses in the common list, which may differ from the address that a node listens on.
    advertise: listens ? cluster.advertise || own?.raft_addr || raftAddr : "",
    forwardAdvertise: listens ? cluster.forward_advertise || own?.forward_addr || forwardAddr : "",
    version: inputs.version,
    minFreeBytes: inputs.minFreeBytes ?? MIN_FREE_BYTES,
  };
}

function startOf({ bootstrap, bootstrap_wait: wait, join, peers }: NodeFile["cluster"]): ClusterOptions["start"] {
  if (join !== undefined) {
    return {
      kind: "join",
      addresses: join,
      bootstrapAfterMs: bootstrap === true ? milliseconds(wait) : undefined,
    };
  }
  if (peers === undefined) return { kind: "bootstrap" };
  return {
    kind: "peers",
    peers: peers.map(({ id, raft_addr: raftAddr, forward_addr: forwardAddr = "" }) => ({ id, raftAddr, forwardAddr })),
  };
}

/** Converts a duration, which the schema has validated. */
const milliseconds = (duration: string): number => parseDuration(duration) ?? 0;
