/** Reacts to hellos and refusals of peers: decides who may take part, detects lost entries, and ends this node if needed. */

import type { Log } from "../../../base/index.ts";
import type { RaftStatus } from "../../core/raft/index.ts";
import type { LogStore } from "../storage/index.ts";
import { type Clocks, createClocks } from "../time/clocks.ts";
import type { ClockReading, PulsePeer } from "../transport/index.ts";
import { fatalErrorOf } from "./fatal-refusals.ts";
import type { MemberDirectory, PeerHello } from "./member-directory.ts";
import { createRollbackDetector, type PeerLogEnd, type Rollback } from "./rollback-detection.ts";

/** Interface of a replica to the network. */
export interface Peers {
  /** Returns a code to refuse a peer's raft connection by the member directory, or `undefined`. */
  refusalCodeFor(hello: PeerHello): string | undefined;
  /**
   * Returns a code to refuse a peer that has lost log entries, or `undefined`. Called once for each new connection for messages.
   */
  rollbackCodeFor(peer: PeerLogEnd): string | undefined;
  /** Returns whether this node's decision between two processes of one node id is final. */
  decidesRivalry(nodeId: string): boolean;
  /** Called when a peer refuses this node. */
  onRefused(code: string, peerId: string): void;
  /** Called when this node refuses a peer. */
  onRefusing(code: string, peerId: string): void;
  /** Returns the last index of this node's log on its disk, and its term. */
  position(): { readonly lastIndex: number; readonly term: number };
  /** Returns this node's last entry that is both committed and on its disk. */
  safeIndex(): number;
  onSafeIndex(peer: PulsePeer, index: number): void;
  onClock(peerId: string, reading: ClockReading): void;
}

interface PeersOptions {
  readonly path: string;
  readonly log: Log;
  readonly store: Pick<LogStore, "lastIndex">;
  readonly directory: Pick<MemberDirectory, "ids" | "mayBelongTo" | "refusalCodeFor" | "storageOf">;
  status(): RaftStatus;
  /** Returns the time of a monotonic clock, in milliseconds. */
  monotonic(): number;
  /** Called when this node must stop. */
  onEnd(error: Error): void;
}

export interface ReplicaPeers extends Peers {
  readonly clocks: Clocks;
  /** Returns members that lost acknowledged entries, by node id. */
  rolledBack(): ReadonlyMap<string, Rollback>;
  /** Returns the safe index of a member, as reported by itself or to this leader; `undefined` if none is known. */
  safeIndexOf(nodeId: string): number | undefined;
  /** Notes the safe index of each member if this node leads. Call it once a second. */
  recordSafeIndexes(): void;
  /** Forgets everything about nodes that are no longer members. */
  keepOnly(nodeIds: readonly string[]): void;
}

export function createPeers({ path, log, store, directory, status, monotonic, onEnd }: PeersOptions): ReplicaPeers {
  const rollbackDetector = createRollbackDetector();
  const clocks = createClocks({
    wall: Date.now,
    monotonic,
    onStep: (byMs) =>
      log.warn(
        "the clock of this machine was changed: budget windows, suspensions and expiries use the previous time until another " +
          "member confirms the new time, or until 10 s have passed",
        { by_ms: byMs },
      ),
  });
  const loggedRollbacks = new Map<string, string>();

  const logRollback = (id: string, { lastIndex, hadIndex }: Rollback): void => {
    const message = `its log ends with entry ${lastIndex}, and entry ${hadIndex} was on its disk`;
    if (loggedRollbacks.get(id) === message) return;
    loggedRollbacks.set(id, message);
    log.error(
      `a member lost entries that it had acknowledged (${message}): its data directory was restored from an old copy, or ` +
        "its disk lost writes. It is refused: move the directory away there, and let the node join with an empty one",
      { member: id },
    );
  };

  return {
    refusalCodeFor: (words) => directory.refusalCodeFor(words, status().lead !== undefined),
    rollbackCodeFor(peer) {
      const { role, term, progress } = status();
      const match = progress.get(peer.nodeId)?.match;
      const counts = role === "leader" && match !== undefined && directory.mayBelongTo(peer.nodeId, peer.storageId);
      const found = rollbackDetector.check(peer, counts ? { term, index: match } : undefined);
      if (found === undefined) {
        loggedRollbacks.delete(peer.nodeId);
        return undefined;
      }
      logRollback(peer.nodeId, found);
      return "forgot";
    },
    decidesRivalry(nodeId) {
      const { role, lead } = status();
      return role === "leader" || lead === nodeId;
    },
    onRefused(code, peerId) {
      const end = fatalErrorOf(code, { path, peerId, lastIndex: store.lastIndex() });
      if (end !== undefined) onEnd(end);
    },
    onRefusing(code, peerId) {
      // The peer has seen a recovery that this directory has not.
      if (code !== "newer_recovery_epoch") return;
      const end = fatalErrorOf("stale_recovery_epoch", { path, peerId, lastIndex: store.lastIndex() });
      if (end !== undefined) onEnd(end);
    },
    // The term may be ahead of the one on disk, never behind it. A higher term only makes a loss harder to prove.
    position: () => ({ lastIndex: store.lastIndex(), term: status().term }),
    safeIndex: () => Math.min(store.lastIndex(), status().commit),
    onSafeIndex({ nodeId, storageId }, index) {
      if (storageId !== undefined && directory.ids().includes(nodeId))
        rollbackDetector.recordSafeIndex(nodeId, storageId, index);
    },
    onClock(peerId, reading) {
      if (directory.ids().includes(peerId)) clocks.addReading(peerId, reading);
    },
    clocks,
    rolledBack: rollbackDetector.rolledBack,
    safeIndexOf: (id) => rollbackDetector.safeIndexOf(id, directory.storageOf(id)),
    recordSafeIndexes() {
      const { role, id: self, commit, progress } = status();
      if (role !== "leader") return;
      for (const [id, { match }] of progress) {
        const storageId = directory.storageOf(String(id));
        if (id !== self && storageId !== undefined)
          rollbackDetector.recordSafeIndex(String(id), storageId, Math.min(match, commit));
      }
    },
    keepOnly(nodeIds) {
      rollbackDetector.keepOnly(nodeIds);
      clocks.keepOnly(nodeIds);
    },
  };
}
