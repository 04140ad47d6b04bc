/**
 * Interface of the cluster on the main thread. Consensus, its disk and its network are in a worker thread. Its changes arrive
 * here in order, so reads are local, and a write is answered after its effect is readable here, unless its caller waives that.
 */

import type { Clock } from "../../base/index.ts";
import type { Actor, CommandResult, Mutation } from "../core/state/index.ts";

/** Settings of `cluster` in the node file, with defaults applied. Durations are in milliseconds. */
export interface ClusterOptions {
  readonly nodeId: string;
  /** Absolute path. `undefined` keeps the state in memory, for a node without others. */
  readonly dataDir: string | undefined;
  /** Cluster secret; `undefined` only for a cluster of one that opens no listener. */
  readonly secret: string | undefined;
  /** Previous secret (`GATEWAY_CLUSTER_SECRET_PREVIOUS`), while the secret is being changed. */
  readonly previousSecret: string | undefined;
  /** Action of a node whose directory is empty. */
  readonly start:
    | { readonly kind: "bootstrap" }
    | { readonly kind: "peers"; readonly peers: readonly PeerAddress[] }
    | { readonly kind: "join"; readonly addresses: readonly string[]; readonly bootstrapAfterMs: number | undefined };
  /** Join list that is asked for re-admission after this time without a known leader; `undefined` if there is none. */
  readonly rejoin: { readonly addresses: readonly string[]; readonly afterMs: number } | undefined;
  /** Time after which a silent member is removed; `undefined` if never. */
  readonly deadAfterMs: number | undefined;
  /** Address to listen on; empty in a cluster of one that accepts no members. */
  readonly raftAddr: string;
  readonly forwardAddr: string;
  /** Address that peers use. */
  readonly advertise: string;
  readonly forwardAdvertise: string;
  readonly version: string;
  /** Minimum free bytes on the disk; with less, writes are refused. */
  readonly minFreeBytes: number;
}

export interface PeerAddress {
  readonly id: string;
  readonly raftAddr: string;
  readonly forwardAddr: string;
}

/**
 * Rows of the state on this thread. Values are raw, including their schema character: parse them with the row parsers of
 * `core/state`.
 */
export interface StateView {
  /** Log index up to which rows are applied here. */
  readonly appliedIndex: number;
  get(key: string): string | undefined;
  /** Returns rows in the order of their keys; with `after`, only those after that key. */
  scan(prefix: string, after?: string): Iterable<readonly [key: string, value: string]>;
  /** Returns a growing number that changes whenever a row under the prefix (a whole table, such as `key/`) changes. */
  version(prefix: string): number;
  /**
   * Calls `onChange` after rows under `prefix` have changed, once per applied batch. `undefined` mutations mean that everything
   * may have changed (a restore, or an installed snapshot). Returns a function that ends the watch.
   */
  watch(prefix: string, onChange: (mutations: readonly Mutation[] | undefined) => void): () => void;
}

export interface WriteOptions {
  readonly by: Actor;
  /** Timeout in milliseconds, at most 60,000. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
  /** Idempotency key (`<principal>/<key>`) and digest of the request. An equal request gets the result of the first one. */
  readonly idempotency?: { readonly key: string; readonly digest: string };
  /**
   * False if the result alone matters: the leader's answer then counts as soon as the write is committed, whatever this node's
   * own disk takes. The default is true.
   */
  readonly waitsForApply?: boolean;
}

export interface MemberStatus {
  readonly id: string;
  readonly role: "leader" | "follower" | "learner";
  readonly voter: boolean;
  readonly raftAddr: string;
  readonly forwardAddr: string;
  /**
   * State seen by the reporting node: a leader judges by answers, another node by its connections. `snapshot`: a snapshot is
   * being sent to the member. `forgot`: its log ends before entries that it acknowledged, so it is refused.
   */
  readonly state: "reachable" | "silent" | "snapshot" | "forgot";
  readonly lastContactMs: number | undefined;
  /** Last index known to be on its disk; `undefined` if this node cannot know it. */
  readonly applied: number | undefined;
  /** Number of entries behind the leader's commit. */
  readonly lag: number | undefined;
  readonly version: string;
  /** Time by which its clock is ahead of the reporting node's, negative if behind; `undefined` if unknown. */
  readonly clockOffsetMs: number | undefined;
}

export interface ClusterStatus {
  readonly nodeId: string;
  readonly storageId: string;
  readonly clusterId: string | undefined;
  /**
   * Number that the cluster gave this process at its start; 0 before. A lower number in the node's row belongs to an earlier
   * process.
   */
  readonly incarnation: number;
  readonly role: "leader" | "follower" | "candidate" | "learner" | "removed";
  readonly leaderId: string | undefined;
  readonly term: number;
  readonly commit: number;
  readonly applied: number;
  readonly firstIndex: number;
  readonly lastIndex: number;
  readonly snapshotIndex: number;
  readonly logBytes: number;
  /** Whether too little is free on the disk of the data directory; the node then accepts no writes as a leader. */
  readonly isDiskLow: boolean;
  readonly isJoint: boolean;
  /** Message if acknowledged writes are lost or a majority has forgotten them: what is known, and what to do. */
  readonly loss: string | undefined;
  readonly time: TimeStatus;
  readonly members: readonly MemberStatus[];
}

/** Time that the node uses: its own clock, or the median of the members' clocks if its own is far from that. */
export interface TimeStatus {
  /** Difference between this time and the monotonic clock of the machine (`machineMonotonic`), in milliseconds. */
  readonly originMs: number;
  /** Milliseconds by which the node's own clock is ahead of the median; negative behind. */
  readonly aheadMs: number;
  /** Milliseconds by which the time of the log is ahead of the members' clocks; 0 within the accepted difference. */
  readonly logAheadMs: number;
}

export interface SnapshotArchiveInfo {
  readonly index: number;
  readonly term: number;
  readonly size: number;
}

export interface RestoreOptions extends WriteOptions {
  /** Omits everything sealed: secrets, certificates, ACME accounts and data keys. */
  readonly withoutSecrets?: boolean;
}

export interface RestoredArchive extends SnapshotArchiveInfo {
  /** Objects that `withoutSecrets` omitted. */
  readonly leftOut?: {
    readonly secrets: readonly string[];
    readonly certificates: readonly string[];
  };
}

/**
 * Rejections are `GatewayError`s: `no_leader` (503; with `outcome: "unknown"` in `details` if the command may still be applied),
 * `busy` (503), `disk_low` (507), `entry_too_large` (413), `conflict` (409), `invalid` (400), `refused` (422), or the stable code
 * of a refused command.
 */
export interface Cluster {
  readonly view: StateView;
  /**
   * Returns the time at which the last entry in `view` was decided, in milliseconds since 1970: the log's time, or the members'
   * if the log is ahead of them.
   */
  logNow(): number;
  /** Time of the cluster, which no single clock that is set or wrong can move. */
  readonly clock: Clock;
  status(): ClusterStatus;
  /** Registers a listener. The status changes at most once a second, but at once when leader, members or `incarnation` change. */
  onStatus(listener: (status: ClusterStatus) => void): () => void;
  /**
   * Proposes a command. Resolves once it is committed and, unless `waitsForApply` is false, `view` has its effect. A refused
   * command resolves too.
   */
  write(command: { readonly t: string; readonly p: unknown }, options: WriteOptions): Promise<CommandResult>;
  /** Resolves once `view` has everything that was acknowledged anywhere before the call. */
  readBarrier(options: { readonly timeoutMs: number; readonly signal?: AbortSignal }): Promise<void>;
  prune(keep: readonly string[], options: WriteOptions): Promise<void>;
  remove(id: string, options: WriteOptions): Promise<void>;
  /** Transfers leadership, to the most advanced voter if `to` is `undefined`. Resolves with the new leader. */
  transferLeader(to: string | undefined, options: WriteOptions): Promise<string>;
  /** Forces a snapshot and streams the archive (gzipped tar). `stale`: allowed even if this node does not lead. */
  saveSnapshot(options: { readonly stale: boolean; readonly signal: AbortSignal }): Promise<{
    readonly info: SnapshotArchiveInfo;
    readonly archive: AsyncIterable<Uint8Array>;
  }>;
  /** Restores an archive, after checking all of it. Resolves once `view` has the restored state. */
  restore(archive: AsyncIterable<Uint8Array>, options: RestoreOptions): Promise<RestoredArchive>;
  /**
   * Asks another member's `onQuestion`; resolves to `undefined` if it does not answer in time. `question` is JSON. Rejects
   * only with the signal's reason.
   */
  askMember(
    id: string,
    question: unknown,
    options: { readonly timeoutMs: number; readonly signal: AbortSignal },
  ): Promise<Uint8Array | undefined>;
  /**
   * Registers an answer to other members' queries, of at most 2 MiB. `undefined` or a rejection means no answer; the first of
   * several that has one is used.
   */
  onQuestion(answer: (question: unknown) => Promise<Uint8Array | undefined>): void;
  /** Hands leadership over if this node leads and another can take it. */
  handOver(signal: AbortSignal): Promise<void>;
  /** Checks that the raft worker is alive. Resolves once its thread has answered. */
  ping(signal: AbortSignal): Promise<void>;
  /** Resolves with the error that ended the worker, or `undefined` after `close`. */
  readonly ended: Promise<Error | undefined>;
  close(): Promise<void>;
}
