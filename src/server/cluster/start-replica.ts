/**
 * Opens a replica: keys, storage, network and, for a blank directory, a place in a cluster; then runs it. Closes everything in
 * reverse order.
 */

import { createReadStream } from "node:fs";
import { performance } from "node:perf_hooks";
import { Lifetime, type Log } from "../../base/index.ts";
import {
  createState,
  createStateDecoder,
  FEATURE_RANGE,
  loadState,
  type Member,
  type State,
} from "../core/state/index.ts";
import type { Row } from "./consensus/applied-state.ts";
import { type ClusterKeys, deriveKeys } from "./identity/index.ts";
import { bootstrap, firstMembers, type JoinRequestPorts, joinCluster } from "./members/bootstrap-and-join.ts";
import { openNetwork } from "./open-network.ts";
import { runReplica } from "./replica.ts";
import type { Replica, ReplicaEvents } from "./replica-types.ts";
import { openMemoryStorage, openStorage, type SnapshotRecord, type Storage, StorageError } from "./storage/index.ts";
import type { ClusterOptions } from "./types.ts";

export interface StartedReplica {
  readonly replica: Replica;
  readonly clusterId: string | undefined;
  readonly warnings: readonly string[];
  close(): Promise<void>;
}

const PROTOCOL = [1, 1] as const;

/** Starts a replica. Rejects with a `StorageError`, a `JoinError`, a listener's error or the signal's reason. */
export async function startReplica(
  options: ClusterOptions,
  events: ReplicaEvents,
  signal: AbortSignal,
): Promise<StartedReplica> {
  const { log } = events;
  const owner = new Lifetime({ onFailure: (name, error) => log.error("could not close", { name, error }) });
  try {
    const keys = await keysOf(options.secret);
    const previousKeys = await keysOf(options.previousSecret);
    const { dataDir: dir, nodeId } = options;
    const opened =
      dir === undefined
        ? openMemoryStorage(nodeId, keys?.clusterId)
        : await openStorage({
            dir,
            nodeId,
            ...(keys !== undefined && { clusterId: keys.clusterId }),
            ...(previousKeys !== undefined && { previousClusterId: previousKeys.clusterId }),
            signal,
          });
    const storage = owner.own("storage", opened, (it) => it.close());
    const self = describeSelf(options, storage);
    const reportedMembers = new Map<string, Member>();
    let replica: Replica | undefined;
    const network = owner.own(
      "network",
      await openNetwork({
        options,
        keys,
        previousKeys,
        storage,
        log,
        peers: () => replica?.peers,
        onMessage: (message) => replica?.onMessage(message),
        onSnapshot: (message, record) => replica?.onSnapshot(message, record),
        onUnreachable: (id) => replica?.reportUnreachable(id),
        onRemoved: (index) => replica?.onRemoved(index),
        onRequest: async (asked, timeoutMs) =>
          replica === undefined
            ? { code: "no_cluster", message: "this node does not belong to a cluster yet" }
            : await replica.requests.answer(asked, timeoutMs),
        onRead: (question, timeoutMs) => events.onQuestion(question, timeoutMs),
      }),
      (it) => it.close(),
    );
    const asking: JoinRequestPorts = { network, request: self, log, signal, now: () => performance.now() };
    const state = storage.log.isBlank
      ? await bootstrapOrJoin(options, storage, self, reportedMembers, asking)
      : await loadOrRebuild(storage, log);
    signal.throwIfAborted();
    const clusterId = keys?.clusterId;
    replica = owner.own(
      "replica",
      runReplica({ options, clusterId, storage, network, state, self, reportedMembers, events }),
      (it) => it.stop(),
    );
    return { replica, clusterId, warnings: storage.warnings, close: () => owner.close() };
  } catch (error) {
    await owner.close();
    throw error;
  }
}

async function keysOf(secret: string | undefined): Promise<ClusterKeys | undefined> {
  return secret === undefined ? undefined : await deriveKeys(secret);
}

function describeSelf(options: ClusterOptions, storage: Storage): Member {
  return {
    id: options.nodeId,
    storage: storage.log.identity.storageId,
    raft_addr: options.advertise,
    forward_addr: options.forwardAdvertise,
    version: options.version,
    proto: PROTOCOL,
    feature: [FEATURE_RANGE.min, FEATURE_RANGE.max],
    incarnation: 0,
  };
}

/** Bootstraps or joins with a directory that has never been part of a cluster. */
async function bootstrapOrJoin(
  options: ClusterOptions,
  storage: Storage,
  self: Member,
  reportedMembers: Map<string, Member>,
  asking: JoinRequestPorts,
): Promise<State> {
  const { start } = options;
  if (start.kind === "join") {
    const outcome = await joinCluster(start.addresses, start.bootstrapAfterMs, asking);
    if (outcome.kind === "admitted") {
      for (const member of outcome.members) reportedMembers.set(member.id, member);
      await storage.log.join(outcome.recoveryEpoch);
      return createState();
    }
    asking.log.warn("no join address answered, so this node starts a new cluster", {
      addresses: start.addresses,
    });
  }
  return await bootstrap(storage, firstMembers(self, start));
}

/**
 * Loads the state from disk. Its rows are not synced with the log, and a power failure may leave some older than others; then
 * they are rebuilt from the snapshot, and the log brings them up to date.
 */
async function loadOrRebuild(storage: Storage, log: Log): Promise<State> {
  const store = storage.state();
  const rows: Row[] = [];
  for await (const slice of store.load()) for (const row of slice) rows.push(row);
  const { digest, ...applied } = store.applied;
  const state = loadState({ applied, rows });
  if (state.digest === digest) return state;
  const record = storage.log.snapshotRecord;
  if (record === undefined || record.size === 0) throw damagedStateError(storage.path);
  log.warn("the stored state differs from the last write; it is rebuilt from the snapshot", {
    snapshot: record.index,
  });
  return await rebuild(storage, record);
}

async function rebuild(storage: Storage, record: SnapshotRecord): Promise<State> {
  const build = await storage.build();
  const rows: Row[] = [];
  const decoder = createStateDecoder();
  for await (const chunk of createReadStream(storage.snapshotPath(record), { highWaterMark: 256 * 1024 })) {
    const slice = decoder.push(chunk);
    for (const row of slice) rows.push(row);
    await build.add(slice);
  }
  if (decoder.end().digest !== record.digest) throw damagedStateError(storage.path);
  const applied = { index: record.index, term: record.term, now: record.now };
  await build.finish(applied, record.digest);
  await storage.adopt(build.generation);
  await storage.reopenState();
  return loadState({ applied, rows });
}

function damagedStateError(path: string): StorageError {
  return new StorageError(
    "damaged",
    `the data directory ${path} is damaged (the rows of the state are not those that were written): ` +
      "move it away and let this node join its cluster again, or restore a snapshot where it is the only one",
  );
}
