/** Refusals by a peer after which a node must stop, because its outdated data would do harm. */

import { forgot, StorageError } from "../storage-error.ts";

interface RefusalFacts {
  /** Path of the data directory. */
  readonly path: string;
  /** Refusing peer. */
  readonly peerId: string;
  /** End of the log. */
  readonly lastIndex: number;
}

/** Returns the error that ends the process with status 11; `undefined` for a refusal that may be temporary. */
export function fatalErrorOf(code: string, { path, peerId, lastIndex }: RefusalFacts): StorageError | undefined {
  switch (code) {
    case "stale_recovery_epoch":
      return new StorageError(
        "superseded",
        `the data directory ${path} is from before a recovery of its cluster (${peerId} refuses it: ${code}): its ` +
          "later entries are no longer part of the cluster, and could conflict with it. Move the directory away and start " +
          "this node with an empty one that joins (cluster.join)",
      );
    case "duplicate_node":
      return new StorageError(
        "duplicate",
        `another process of this node id is connected to ${peerId} and answers (${code}): the data directory ${path} is ` +
          "in use twice, once as a copy. Stop one of the two. To add a node, give it its own cluster.node_id and an " +
          "empty data directory that joins (cluster.join)",
      );
    case "forgot":
      return forgot(path, `it ends with entry ${lastIndex}, and ${peerId} knows of later entries that it had`);
    default:
      return undefined;
  }
}
