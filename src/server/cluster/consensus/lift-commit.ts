/** Raises the commit index of the log at a start. */

import type { LogReader } from "../../core/raft/index.ts";

/**
 * Returns the log with a commit index of at least `applied`. The commit index is written lazily and the applied rows are not
 * synced with it, so after a crash the rows may be ahead. Everything applied was committed.
 */
export function liftCommit(log: LogReader, applied: number): LogReader {
  return {
    initialState() {
      const { hardState, configuration } = log.initialState();
      return { hardState: { ...hardState, commit: Math.max(hardState.commit, applied) }, configuration };
    },
    firstIndex: () => log.firstIndex(),
    lastIndex: () => log.lastIndex(),
    term: (index) => log.term(index),
    entries: (low, high, maxBytes) => log.entries(low, high, maxBytes),
    snapshot: () => log.snapshot(),
  };
}
