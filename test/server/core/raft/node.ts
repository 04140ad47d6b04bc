/**
 * One node around a core, for scripted cases and random interleavings: an in-memory log, a queue of appends that are
 * not durable yet and a queue of entries to apply. A crash loses both queues and keeps the log and the applied state.
 */

import {
  type ConfChange,
  type Configuration,
  createMemoryLog,
  createRaft,
  decodeConfChange,
  type Entry,
  type MemoryLog,
  type Message,
  type NodeId,
  type Raft,
  type RaftOptions,
  type ReadState,
  type Ready,
  type SnapshotMeta,
} from "../../../../src/server/core/raft/index.ts";

export interface Node {
  readonly id: NodeId;
  readonly log: MemoryLog;
  readonly limits: Limits;
  raft: Raft;
  applied: number;
  configuration: Configuration;
  readonly appends: Ready[];
  readonly applies: (readonly Entry[])[];
}

export type Limits = Omit<RaftOptions, "id" | "log" | "applied">;

export const WIDE_LIMITS: Omit<Limits, "random"> = {
  electionTicks: 3,
  heartbeatTicks: 1,
  maxMessageBytes: 1_000_000,
  maxInflightMessages: 256,
  maxInflightBytes: 1_000_000,
  maxUncommittedBytes: 1_000_000,
  maxUncommittedEntries: 10_000,
  maxApplyingBytes: 1_000_000,
};

/** Events around a node. */
export interface Surroundings {
  send(message: Message): void;
  isReady(node: Node, ready: Ready): void;
  durable(node: Node, ready: Ready): void;
  appliedEntry(node: Node, entry: Entry, change: ConfChange | undefined): void;
  read(node: Node, read: ReadState): void;
}

export function createNode(id: NodeId, snapshot: SnapshotMeta, limits: Limits): Node {
  const log = createMemoryLog({ snapshot });
  const applied = snapshot.index;
  const raft = createRaft({ ...limits, id, log, applied });
  return { id, log, limits, raft, applied, configuration: snapshot.configuration, appends: [], applies: [] };
}

export function crash(node: Node): void {
  node.appends.length = 0;
  node.applies.length = 0;
  node.raft = createRaft({ ...node.limits, id: node.id, log: node.log, applied: node.applied });
}

export function takeReady(node: Node, around: Surroundings): void {
  const ready = node.raft.ready();
  around.isReady(node, ready);
  for (const message of ready.messages) around.send(message);
  for (const read of ready.readStates) around.read(node, read);
  node.appends.push(ready);
  if (ready.committedEntries.length > 0) node.applies.push(ready.committedEntries);
}

export function finishAppend(node: Node, around: Surroundings): void {
  const ready = node.appends.shift();
  if (ready === undefined) return;
  if (ready.snapshot !== undefined) {
    node.log.installSnapshot(ready.snapshot);
    // The snapshot contains the pending entries.
    node.applies.length = 0;
    node.applied = ready.snapshot.index;
    node.configuration = ready.snapshot.configuration;
  }
  node.log.append(ready.entries);
  if (ready.hardState !== undefined) node.log.setHardState(ready.hardState);
  around.durable(node, ready);
  node.raft.advanceAppend(ready.ack);
  if (ready.snapshot !== undefined) node.raft.advanceApply(ready.snapshot.index);
  for (const message of ready.messagesAfterAppend) {
    if (message.to === node.id) node.raft.step(message);
    else around.send(message);
  }
}

export function finishApply(node: Node, around: Surroundings): void {
  const entries = node.applies.shift() ?? [];
  for (const entry of entries) {
    const change = entry.kind === "conf-change" ? decodeConfChange(entry.data) : undefined;
    if (change !== undefined) {
      node.configuration = node.raft.applyConfChange(change);
      node.log.setConfiguration(node.configuration);
    }
    node.applied = entry.index;
    around.appliedEntry(node, entry, change);
  }
  if (entries.length > 0) node.raft.advanceApply(node.applied);
}

/** Makes a snapshot of the applied state and drops the log up to `index`. */
export function compactNode(node: Node, index: number): void {
  node.log.createSnapshot(node.applied, node.configuration);
  node.log.compact(index);
}
