/** An in-memory single-node cluster: the real state machine without log, disk and network. */

import { GatewayError, type RefusalCode } from "../../../../src/base/index.ts";
import type { Cluster, ClusterStatus, MemberStatus } from "../../../../src/server/cluster/index.ts";
import {
  type CommandResult,
  encodeCommand,
  encodeProposal,
  FEATURE_RANGE,
  featureRowKey,
  loadState,
  type Mutation,
} from "../../../../src/server/core/state/index.ts";

export interface MemoryCluster {
  readonly cluster: Cluster;
  /** Makes the next write, barrier, membership or snapshot call reject with this. */
  failNext(code: RefusalCode, message: string, details?: unknown): void;
  /** Reports members like consensus. */
  setMembers(members: readonly MemberStatus[]): void;
  readonly writes: number;
  readonly watchers: number;
  /** Bytes received by restores. */
  readonly restored: readonly Uint8Array[];
}

export const member = (id: string, role: MemberStatus["role"] = "follower"): MemberStatus => ({
  id,
  role,
  voter: true,
  raftAddr: `${id}:7000`,
  forwardAddr: `${id}:7001`,
  state: "reachable",
  lastContactMs: role === "leader" ? undefined : 12,
  applied: 7,
  lag: 0,
  version: "1.0.0",
  clockOffsetMs: role === "leader" ? undefined : -40,
});

type Row = readonly [key: string, value: string];

export const levelRow = (level: number): Row => [featureRowKey, `1${JSON.stringify({ level })}`];

export function createMemoryCluster(
  now: () => number,
  /** Answers of other members; none by default. */
  answerOf: (id: string, question: unknown) => Uint8Array | undefined = () => undefined,
  /** Feature level of a cluster whose members all run this build. */
  rows: readonly Row[] = [levelRow(FEATURE_RANGE.max)],
): MemoryCluster {
  const state = loadState({ applied: { index: 0, term: 0, now: 0 }, rows });
  const versions = new Map<string, number>();
  const watchers = new Set<{ prefix: string; onChange: (mutations: readonly Mutation[] | undefined) => void }>();
  const listeners = new Set<(status: ClusterStatus) => void>();
  const restored: Uint8Array[] = [];
  let members: readonly MemberStatus[] = [member("n1", "leader"), member("n2"), member("n3")];
  let failure: Error | undefined;
  let index = 0;
  let sequence = 0;
  let changes = 0;

  const failOnce = (): void => {
    const error = failure;
    failure = undefined;
    if (error !== undefined) throw error;
  };
  const status = (): ClusterStatus => ({
    nodeId: "n1",
    storageId: "0".repeat(32),
    clusterId: "c1",
    incarnation: 1,
    role: "leader",
    leaderId: members.find(({ role }) => role === "leader")?.id,
    term: 3,
    commit: index,
    applied: index,
    firstIndex: 1,
    lastIndex: index,
    snapshotIndex: 0,
    logBytes: 0,
    isDiskLow: false,
    isJoint: false,
    loss: undefined,
    time: { originMs: 0, aheadMs: 0, logAheadMs: 0 },
    members,
  });
  const setMembers = (next: readonly MemberStatus[]): void => {
    members = next;
    for (const listener of listeners) listener(status());
  };

  function follow(mutations: readonly Mutation[]): void {
    for (const { key } of mutations) {
      changes += 1;
      versions.set(key.slice(0, key.indexOf("/") + 1), changes);
    }
    for (const { prefix, onChange } of [...watchers]) {
      const own = mutations.filter(({ key }) => key.startsWith(prefix));
      if (own.length > 0) onChange(own);
    }
  }

  const cluster: Cluster = {
    logNow: now,
    clock: { now, monotonic: now },
    view: {
      get appliedIndex() {
        return index;
      },
      get: (key) => state.get(key),
      scan: (prefix, after) => state.scan(prefix, after),
      version: (prefix) => (prefix === "" ? changes : (versions.get(prefix) ?? 0)),
      watch(prefix, onChange) {
        const watcher = { prefix, onChange };
        watchers.add(watcher);
        return () => watchers.delete(watcher);
      },
    },
    status,
    onStatus(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async write(command, { by, idempotency }): Promise<CommandResult> {
      failOnce();
      index += 1;
      sequence += 1;
      const whole = { v: 1, id: `c${index}`, c: "memory", s: sequence, by, ...command };
      const keyed = idempotency === undefined ? whole : { ...whole, k: idempotency.key, kd: idempotency.digest };
      const outcome = state.apply({ index, term: 3, data: encodeProposal(now(), encodeCommand(keyed)) });
      follow(outcome.mutations);
      if (outcome.result === undefined) throw new Error("a command without a result");
      return outcome.result;
    },
    async readBarrier() {
      failOnce();
    },
    async prune(keep) {
      failOnce();
      // Like a node that has the leader's answer before it has applied the change itself.
      setImmediate(() => setMembers(members.filter(({ id }) => keep.includes(id))));
    },
    async remove(id) {
      failOnce();
      setMembers(members.filter((it) => it.id !== id));
    },
    async transferLeader(to) {
      failOnce();
      const next = to ?? members.find(({ role }) => role !== "leader")?.id ?? "n1";
      setMembers(members.map((it) => ({ ...it, role: it.id === next ? "leader" : "follower" })));
      return next;
    },
    async saveSnapshot() {
      failOnce();
      return { info: { index, term: 3, size: 300_000 }, archive: pieces() };
    },
    async restore(archive) {
      failOnce();
      restored.length = 0;
      for await (const chunk of archive) restored.push(chunk);
      return { index: 41, term: 2, size: restored.reduce((sum, { length }) => sum + length, 0) };
    },
    askMember: (id, question) => Promise.resolve(answerOf(id, question)),
    onQuestion() {},
    async handOver() {},
    async ping() {},
    ended: new Promise(() => {}),
    async close() {},
  };
  return {
    cluster,
    failNext(code, message, details) {
      failure = Object.assign(new GatewayError(code, message), details === undefined ? {} : { details });
    },
    setMembers,
    get writes() {
      return sequence;
    },
    get watchers() {
      return watchers.size + listeners.size;
    },
    restored,
  };
}

async function* pieces(): AsyncGenerator<Uint8Array> {
  for (let count = 0; count < 3; count++) yield Buffer.alloc(100_000, count);
}
