/**
 * The cluster as the main thread uses it. Consensus, its disk and its network live in a worker thread; what it applies
 * arrives here in order, so that reads are local and a write answers after its effect can be read here.
 */

import type { Clock } from "../../base/index.ts";
import type { Actor, CommandResult, Mutation } from "../core/state/index.ts";

/** Settings of `cluster` in the node file, with defaults applied. Durations are in milliseconds. */
export interface ClusterOptions {
  readonly nodeId: string;
  /** Absolute path. `undefined` keeps the state in memory, for a node without others. */
  readonly dataDir: string | undefined;
  /** `undefined` only for a cluster of one that opens no listener. */
  readonly secret: string | undefined;
  /** `GATEWAY_CLUSTER_SECRET_PREVIOUS`, while the secret is being changed. */
  readonly previousSecret: string | undefined;
  /** How a directory without state begins. */
  readonly start:
    | { readonly kind: "bootstrap" }
    | { readonly kind: "peers"; readonly peers: readonly PeerAddress[] }
    | { readonly kind: "join"; readonly addresses: readonly string[]; readonly bootstrapAfterMs: number | undefined };
  /** The join list asked for re-admission after this long without a known leader; undefined without a list. */
  readonly rejoin: { readonly addresses: readonly string[]; readonly afterMs: number } | undefined;
  /** `undefined` if silent members are never removed. */
  readonly deadAfterMs: number | undefined;
  /** Address to listen on; empty in a cluster of one that accepts no members. */
  readonly raftAddr: string;
  readonly forwardAddr: string;
  /** Address that peers use. */
  readonly advertise: string;
  readonly forwardAdvertise: string;
  readonly version: string;
  /** Writes are refused while less is free on the disk. */
  readonly minFreeBytes: number;
}

export interface PeerAddress {
  readonly id: string;
  readonly raftAddr: string;
  readonly forwardAddr: string;
}

/**
 * The rows of the state on this thread. Values are without their schema character's meaning: read them with the row
 * parsers of core/state.
 */
export interface StateView {
  /** Log index up to which rows are applied here. */
  readonly appliedIndex: number;
  get(key: string): string | undefined;
  /** In the order of their keys; only those behind the key `after`, if that is given. */
  scan(prefix: string, after?: string): Iterable<readonly [key: string, value: string]>;
  /** A growing number that changes whenever a row under the prefix (a whole table, such as `key/`) changes. */
  version(prefix: string): number;
  /**
   * Called after rows under `prefix` have changed, once an applied batch; returns the way to end it. `undefined`
   * mutations: everything may have changed (a restore, or an installed snapshot).
   */
  watch(prefix: string, onChange: (mutations: readonly Mutation[] | undefined) => void): () => void;
}

export interface WriteOptions {
  readonly by: Actor;
  /** Given up after this long; at most 60,000. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
  /** `<principal>/<key>` and the digest of the request: the same again answers the first one's result. */
  readonly idempotency?: { readonly key: string; readonly digest: string };
}

export interface MemberStatus {
  readonly id: string;
  readonly role: "leader" | "follower" | "learner";
  readonly voter: boolean;
  readonly raftAddr: string;
  readonly forwardAddr: string;
  /**
   * State as the reporting node sees it: a leader judges by answers, another node by its connections. `snapshot`: the
   * member is being sent one. `forgot`: it came with a log that ends before what it had acknowledged, and is refused.
   */
  readonly state: "reachable" | "silent" | "snapshot" | "forgot";
  readonly lastContactMs: number | undefined;
  /** Last index known to be on its disk; undefined where this node cannot know. */
  readonly applied: number | undefined;
  /** Entries behind the leader's commit. */
  readonly lag: number | undefined;
  readonly version: string;
  /** Its clock ahead of that of the node asked, negative behind; undefined while it is not known. */
  readonly clockOffsetMs: number | undefined;
}

export interface ClusterStatus {
  readonly nodeId: string;
  readonly storageId: string;
  readonly clusterId: string | undefined;
  /**
   * The number that the cluster gave this process at its start; 0 before. A lower one in the node's row is of an earlier
   * process.
   */
  readonly startedAs: number;
  readonly role: "leader" | "follower" | "candidate" | "learner" | "removed";
  readonly leaderId: string | undefined;
  readonly term: number;
  readonly commit: number;
  readonly applied: number;
  readonly firstIndex: number;
  readonly lastIndex: number;
  readonly snapshotIndex: number;
  readonly logBytes: number;
  /** Too little is free on the disk of its data directory: it takes no writes as a leader. */
  readonly isDiskLow: boolean;
  readonly isJoint: boolean;
  /** A sentence, where acknowledged writes are lost or a majority has forgotten them: what is known, and what to do. */
  readonly loss: string | undefined;
  readonly time: TimeStatus;
  readonly members: readonly MemberStatus[];
}

/** The time that the node goes by: its own clock, or the median of the members' where its own is far from that. */
export interface TimeStatus {
  /** This time less the monotonic clock of the machine (`machineMonotonic`), in milliseconds. */
  readonly originMs: number;
  /** Milliseconds by which the node's own clock is ahead of the median; negative behind. */
  readonly aheadMs: number;
  /** Milliseconds by which the time of the log is ahead of the members' clocks; 0 within what clocks differ by. */
  readonly logAheadMs: number;
}

export interface SnapshotArchiveInfo {
  readonly index: number;
  readonly term: number;
  readonly size: number;
}

export interface RestoreOptions extends WriteOptions {
  /** Leaves out everything that is sealed: secrets, certificates, ACME accounts and the data keys. */
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
 * Rejections are `GatewayError`s: `no_leader` (503; with `outcome: "unknown"` in `details` where the command may yet be
 * applied), `busy` (503), `disk_low` (507), `entry_too_large` (413), `conflict` (409), `invalid` (400),
 * `refused` (422), or the stable code of a refused command.
 */
export interface Cluster {
  readonly view: StateView;
  /**
   * Time by which the last entry was decided that `view` has, in milliseconds since 1970: that of the log, or the
   * members' where the log is ahead of them.
   */
  logNow(): number;
  /** The time that the cluster goes by, which no clock that is set or wrong moves on its own. */
  readonly clock: Clock;
  status(): ClusterStatus;
  /** Changes at most once a second, and at once on a change of leader or members, and once `startedAs` is known. */
  onStatus(listener: (status: ClusterStatus) => void): () => void;
  /** Resolves once the command is committed and `view` holds its effect. A refused command resolves too. */
  write(command: { readonly t: string; readonly p: unknown }, options: WriteOptions): Promise<CommandResult>;
  /** Resolves once `view` holds everything that was acknowledged anywhere before the call. */
  readBarrier(options: { readonly timeoutMs: number; readonly signal?: AbortSignal }): Promise<void>;
  prune(keep: readonly string[], options: WriteOptions): Promise<void>;
  remove(id: string, options: WriteOptions): Promise<void>;
  /** To the most advanced voter when `to` is undefined; resolves with who leads then. */
  transferLeader(to: string | undefined, options: WriteOptions): Promise<string>;
  /** Forces a snapshot and gives the archive (gzipped tar) as it is made. `stale`: also when this node does not lead. */
  saveSnapshot(options: { readonly stale: boolean; readonly signal: AbortSignal }): Promise<{
    readonly info: SnapshotArchiveInfo;
    readonly archive: AsyncIterable<Uint8Array>;
  }>;
  /** Checks the archive whole before anything changes. Resolves once `view` holds the restored state. */
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
  /** Answers other members from here on: at most 2 MiB; undefined, or a rejection: no answer. The first of several that has one answers. */
  onQuestion(answer: (question: unknown) => Promise<Uint8Array | undefined>): void;
  /** Hands leadership over where this node leads and another can take it. */
  handOver(signal: AbortSignal): Promise<void>;
  /** Resolves once the raft worker has answered, which shows that its thread is alive. */
  ping(signal: AbortSignal): Promise<void>;
  /** Resolves with what ended the worker: a storage fault, or undefined after `close`. */
  readonly ended: Promise<Error | undefined>;
  close(): Promise<void>;
}
