/**
 * Identity of a data directory: the text records `m/...` of the log database. Format 1 had only the first two and is upgraded
 * in place; format 2 is this one.
 *
 *     m/format   version of the layout
 *     m/node     the node's id
 *     m/storage  32 hex digits drawn at creation: a node that returns with a blank directory is a different one
 *     m/epoch    raised by each `cluster recover`
 *     m/cluster  derived from the cluster secret; absent without one
 *     m/joined   1 if it was blank when an existing cluster admitted it
 */

import { randomBytes } from "node:crypto";
import { mkdtemp, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { damaged, StorageError, unwritable } from "../storage-error.ts";
import { type Level, type Operation, openDatabase } from "./database.ts";
import { exists, RAFT_DIRECTORY, syncDirectory, UNFINISHED_SUFFIX } from "./directory.ts";
import type { StorageIdentity } from "./types.ts";

export const FORMAT = 2;

export interface StoredIdentity extends StorageIdentity {
  /** Version of the layout: 1 or 2. */
  readonly format: number;
}

export function putText(key: string, value: string): Operation {
  return { type: "put", key: Buffer.from(key), value: Buffer.from(value) };
}

interface ExpectedIdentity {
  /** Name of the data directory in messages. */
  readonly path: string;
  /** Expected node id; `undefined` accepts any, for inspection. */
  readonly nodeId: string | undefined;
}

/** Reads the identity. Refuses a newer format, another node and missing records. For format 1, missing values are generated. */
export async function readIdentity(level: Level, { path, nodeId }: ExpectedIdentity): Promise<StoredIdentity> {
  const keys = ["m/format", "m/node", "m/storage", "m/epoch", "m/cluster", "m/joined"].map((key) => Buffer.from(key));
  let values: readonly (string | undefined)[];
  try {
    values = (await level.getMany(keys)).map((value) =>
      value === undefined ? undefined : Buffer.from(value).toString("utf8"),
    );
  } catch (cause) {
    throw damaged(path, "its format version cannot be read", cause);
  }
  const [format, owner, storageId, epoch, clusterId, joined] = values;
  if (format === undefined || !/^[1-9]\d{0,8}$/.test(format)) throw damaged(path, "its format version is missing");
  if (Number(format) > FORMAT) {
    throw new StorageError(
      "newer_format",
      `the data directory ${path} was written by a newer version (format ${format}, this one reads ${FORMAT}): upgrade this gateway`,
    );
  }
  if (owner === undefined) throw damaged(path, "its node id is missing");
  if (nodeId !== undefined && owner !== nodeId) {
    throw new StorageError(
      "wrong_node",
      `the data directory ${path} belongs to node ${JSON.stringify(owner)}, this is ${JSON.stringify(nodeId)}: ` +
        "set cluster.node_id back, or give this node its own cluster.data_dir",
    );
  }
  const identity = { format: Number(format), nodeId: owner, clusterId, hasJoined: joined === "1" };
  if (identity.format === 1) return { ...identity, storageId: newStorageId(), recoveryEpoch: 0 };
  if (storageId === undefined || !/^[0-9a-f]{32}$/.test(storageId)) throw damaged(path, "its storage id is missing");
  if (epoch === undefined || !/^\d{1,9}$/.test(epoch)) throw damaged(path, "its recovery epoch is missing");
  return { ...identity, storageId, recoveryEpoch: Number(epoch) };
}

interface ExpectedCluster {
  readonly path: string;
  /** Expected cluster id; `undefined` if it is not checked. */
  readonly clusterId: string | undefined;
  /** Cluster id of the previous secret, while the secret is being changed. */
  readonly previousClusterId: string | undefined;
}

/** Returns the records that make the directory part of this cluster, if it is not already. */
export function clusterChange(
  { clusterId: stored }: StorageIdentity,
  { path, clusterId, previousClusterId }: ExpectedCluster,
): readonly Operation[] {
  if (clusterId === undefined || stored === clusterId) return [];
  if (stored !== undefined && stored !== previousClusterId) {
    throw new StorageError(
      "wrong_cluster",
      `the data directory ${path} belongs to a cluster of another secret (${stored}, this one is ${clusterId}): set ` +
        "cluster.secret back; to change it, also set GATEWAY_CLUSTER_SECRET_PREVIOUS to the former one; to leave that " +
        "cluster, give this node its own cluster.data_dir",
    );
  }
  return [putText("m/cluster", clusterId)];
}

interface NewDatabase {
  readonly path: string;
  readonly nodeId: string;
}

/**
 * Creates the log database. Each process builds it under a temporary name. The rename decides between several processes, since it
 * fails if the name is a directory that is not empty. The second process then finds the first one's database locked.
 */
export async function createDatabase({ path, nodeId }: NewDatabase): Promise<void> {
  const location = join(path, RAFT_DIRECTORY);
  let unfinished: string | undefined;
  try {
    unfinished = await mkdtemp(`${location}${UNFINISHED_SUFFIX}`);
    const database = await openDatabase({ path, location: unfinished, create: true });
    try {
      await database.write(
        [
          putText("m/format", String(FORMAT)),
          putText("m/node", nodeId),
          putText("m/storage", newStorageId()),
          putText("m/epoch", "0"),
        ],
        true,
      );
    } finally {
      await database.close();
    }
    await rename(unfinished, location);
    await syncDirectory(path);
  } catch (error) {
    if (unfinished !== undefined) await rm(unfinished, { recursive: true, force: true });
    if (await exists(location)) return;
    throw error instanceof StorageError ? error : unwritable(path, error);
  }
}

function newStorageId(): string {
  return randomBytes(16).toString("hex");
}
