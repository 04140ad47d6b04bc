/**
 * Detects members that came back with an old copy of their data directory, by comparing it with what was on their disks before.
 * Such a member must not take part: its votes would count for entries that it has lost, and with a majority of such nodes,
 * acknowledged entries are lost.
 *
 * Two facts about a healthy member stay true whatever happens to the leaders. An entry that is committed and on its disk is never
 * replaced. An entry that it acknowledged to the leader of the present term is not replaced either, until the member has reached
 * a later term. So a log that ends before either has been rolled back, and no healthy one has (the simulator checks this at every
 * reconnection of every run).
 */

export interface PeerLogEnd {
  readonly nodeId: string;
  readonly storageId: string;
  /** End of the member's log; `undefined` if it runs an earlier version, which does not report it. */
  readonly log: { readonly lastIndex: number; readonly term: number } | undefined;
}

export interface Rollback {
  readonly storageId: string;
  /** Last index of its log; `hadIndex`: index of an entry that it had. */
  readonly lastIndex: number;
  readonly hadIndex: number;
}

/** Acknowledgements of the member with this directory to the leader of `term`. */
interface Acknowledged {
  readonly term: number;
  readonly index: number;
}

interface RollbackDetector {
  /** Notes a member's safe index, which covers committed entries. */
  recordSafeIndex(nodeId: string, storageId: string, safeIndex: number): void;
  /** Returns what the member has lost; `undefined` if nothing shows a loss. `acknowledged`: set if this node leads. */
  check(peer: PeerLogEnd, acknowledged: Acknowledged | undefined): Rollback | undefined;
  safeIndexOf(nodeId: string, storageId: string | undefined): number | undefined;
  /** Returns the members that were found rolled back when they last connected, by node id. */
  rolledBack(): ReadonlyMap<string, Rollback>;
  /** Forgets nodes that are no longer members. */
  keepOnly(nodeIds: readonly string[]): void;
}

/** Facts about a member's directory. */
interface KnownDirectory {
  readonly storageId: string;
  readonly safeIndex: number;
}

export function createRollbackDetector(known: Map<string, KnownDirectory> = new Map()): RollbackDetector {
  const rolledBack = new Map<string, Rollback>();
  return {
    recordSafeIndex(nodeId, storageId, safeIndex) {
      const before = known.get(nodeId);
      if (before?.storageId === storageId && before.safeIndex >= safeIndex) return;
      known.set(nodeId, { storageId, safeIndex });
    },
    check({ nodeId, storageId, log }, acknowledged) {
      rolledBack.delete(nodeId);
      if (log === undefined) return undefined;
      const { lastIndex, term } = log;
      const before = known.get(nodeId);
      const safeIndex = before?.storageId === storageId ? before.safeIndex : 0;
      const acknowledgedIndex = acknowledged !== undefined && term <= acknowledged.term ? acknowledged.index : 0;
      const hadIndex = Math.max(safeIndex, acknowledgedIndex);
      if (lastIndex >= hadIndex) return undefined;
      const found = { storageId, lastIndex, hadIndex };
      rolledBack.set(nodeId, found);
      return found;
    },
    safeIndexOf(nodeId, storageId) {
      const before = known.get(nodeId);
      return before?.storageId === storageId ? before?.safeIndex : undefined;
    },
    rolledBack: () => rolledBack,
    keepOnly(nodeIds) {
      for (const id of known.keys()) if (!nodeIds.includes(id)) known.delete(id);
      for (const id of rolledBack.keys()) if (!nodeIds.includes(id)) rolledBack.delete(id);
    },
  };
}
