/** Replicated state: consensus with its disk, network and time, and what the main thread sees of it. */

export { ClusterError, type ClusterErrorCode } from "./failure.ts";
export { createForwardClient, type ForwardClient, type ForwardReply } from "./forward/index.ts";
export { type ClusterKeys, createIdentity, deriveKeys, MIN_SECRET_LENGTH } from "./identity/index.ts";
export { JoinError } from "./joining.ts";
export { type OpenClusterOptions, openCluster } from "./open-cluster.ts";
export { putBlob } from "./put-blob.ts";
export {
  inspectStorage,
  planRecovery,
  type RecoveredMembership,
  RecoveryRefused,
  recoverMembership,
  type StorageFacts,
} from "./recovery/index.ts";
export { StorageError, type StorageErrorCode } from "./storage-error.ts";
export type * from "./types.ts";
export { createView, type FollowedView } from "./view.ts";
