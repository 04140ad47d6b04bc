/** Self-descriptions of test nodes. */

import type { Identity } from "../../../../src/server/cluster/identity/index.ts";
import type { SelfDescription } from "../../../../src/server/cluster/wire/index.ts";

export function selfOf(identity: Identity, over: Partial<SelfDescription> = {}): SelfDescription {
  const [clusterId = ""] = identity.clusterIds;
  return {
    nodeId: identity.subject.id,
    storageId: `storage-of-${identity.subject.id}`,
    epoch: 0,
    clusterId,
    proto: [1, 1],
    feat: 0,
    ...over,
  };
}
