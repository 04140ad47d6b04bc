/**
 * Replicated state: consensus with its disk, network and time, and the view of it on the main thread.
 *
 * - `consensus/`: the driver around the raft core: log, ticks, applied state
 * - `forward/`: requests between nodes, and from a command line to a node
 * - `identity/`: keys and certificates derived from the cluster secret
 * - `members/`: admission, promotion, removal and rollback detection of members
 * - `recovery/`: offline recovery of a cluster that lost its majority
 * - `requests/`: requests to other members: who answers them, and how the leader is found
 * - `snapshots/`: snapshot archive, schedule, transfer and restore
 * - `storage/`: the disk: log, state, snapshot files
 * - `time/`: the members' clocks, and the time of the log
 * - `transport/`: the network between replicas
 * - `wire/`: frames, hello and messages between peers
 */

export { ClusterError } from "./cluster-error.ts";
export { createForwardClient, type ForwardClient, type ForwardReply } from "./forward/index.ts";
export { createIdentity, deriveKeys, MIN_SECRET_LENGTH } from "./identity/index.ts";
export { openCluster } from "./open-cluster.ts";
export {
  inspectStorage,
  planRecovery,
  RecoveryRefused,
  recoverMembership,
  type StorageFacts,
} from "./recovery/index.ts";
export { putBlob } from "./snapshots/put-blob.ts";
export { createView } from "./state-view.ts";
export type * from "./types.ts";
