/**
 * What members are known to have had on their disks, so that one which was put back from an old copy of its directory is
 * noticed when it comes back. It must not take part: its votes would count for entries that it has lost, and with a
 * majority of such nodes what was acknowledged is gone.
 *
 * Two things are known of a healthy member whatever happens to the leaders. An entry that is committed and on its disk is
 * never replaced; nor is, until it has reached a later term, an entry that it acknowledged to the leader of the present
 * one. So a log that ends before either has forgotten, and no other one does (see the simulator, which asks at every
 * reconnection of every run).
 */

export interface Words {
  readonly nodeId: string;
  readonly storageId: string;
  /** Undefined: it does not say, since it runs an earlier version. */
  readonly log: { readonly lastIndex: number; readonly term: number } | undefined;
}

export interface Forgotten {
  readonly storageId: string;
  /** Where its log ends, and the entry that it had. */
  readonly lastIndex: number;
  readonly hadIndex: number;
}

/** Of the leader of `term`: what the member with this directory acknowledged to it. */
export interface Acknowledged {
  readonly term: number;
  readonly index: number;
}

export interface Recall {
  /** Of entries that are committed. */
  note(nodeId: string, storageId: string, safeIndex: number): void;
  /** What it has forgotten; undefined where nothing shows that it has. `acknowledged`: where this node leads. */
  judge(words: Words, acknowledged: Acknowledged | undefined): Forgotten | undefined;
  safeIndexOf(nodeId: string, storageId: string | undefined): number | undefined;
  /** By node id: those that were judged so when they last came. */
  forgotten(): ReadonlyMap<string, Forgotten>;
  /** Members that are none any more. */
  keepOnly(nodeIds: readonly string[]): void;
}

/** What is known of a member's directory. */
export interface Known {
  readonly storageId: string;
  readonly safeIndex: number;
}

export function createRecall(known: Map<string, Known> = new Map()): Recall {
  const forgotten = new Map<string, Forgotten>();
  return {
    note(nodeId, storageId, safeIndex) {
      const before = known.get(nodeId);
      if (before?.storageId === storageId && before.safeIndex >= safeIndex) return;
      known.set(nodeId, { storageId, safeIndex });
    },
    judge({ nodeId, storageId, log }, acknowledged) {
      forgotten.delete(nodeId);
      if (log === undefined) return undefined;
      const { lastIndex, term } = log;
      const before = known.get(nodeId);
      const safe = before?.storageId === storageId ? before.safeIndex : 0;
      const promised = acknowledged !== undefined && term <= acknowledged.term ? acknowledged.index : 0;
      const hadIndex = Math.max(safe, promised);
      if (lastIndex >= hadIndex) return undefined;
      const found = { storageId, lastIndex, hadIndex };
      forgotten.set(nodeId, found);
      return found;
    },
    safeIndexOf(nodeId, storageId) {
      const before = known.get(nodeId);
      return before?.storageId === storageId ? before?.safeIndex : undefined;
    },
    forgotten: () => forgotten,
    keepOnly(nodeIds) {
      for (const id of known.keys()) if (!nodeIds.includes(id)) known.delete(id);
      for (const id of forgotten.keys()) if (!nodeIds.includes(id)) forgotten.delete(id);
    },
  };
}
