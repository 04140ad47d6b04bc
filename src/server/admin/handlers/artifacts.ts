/** Model files in the cache of this node. */

import type { ArtifactRecord } from "../../../admin-api/index.ts";
import { counted, fixed, type ListSource } from "../lists.ts";
import type { Ports } from "../ports.ts";

/** Changes with the needed models, when one has arrived or failed, and each second during a download. */
export function artifactList({ cluster, artifacts }: Ports): ListSource<ArtifactRecord> {
  return {
    ...counted((listener) => artifacts.onChange(listener)),
    async take() {
      const { nodeId: node } = cluster.status();
      return fixed((await artifacts.list()).map((row) => ({ ...row, node })));
    },
  };
}
