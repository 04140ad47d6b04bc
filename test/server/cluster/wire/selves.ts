/** Self-descriptions of test nodes. */

import type { Identity } from "../../../../src/server/cluster/identity/index.ts";
import type { Self } from "../../../../src/server/cluster/wire/index.ts";

export function selfOf(identity: Identity, over: Partial<Self> = {}): Self {
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
