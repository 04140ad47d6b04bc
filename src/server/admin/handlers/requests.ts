/** The last requests of this node. */

import type { RequestRecord } from "../../../admin-api/index.ts";
import { mapped } from "../handler.ts";
import { counted, type ListSource } from "../lists.ts";
import type { Ports } from "../ports.ts";

/** Changes at most once a second. */
export function requestList({ cluster, requests }: Ports): ListSource<RequestRecord> {
  return {
    ...counted((listener) => requests.onChange(listener)),
    take() {
      const { nodeId: node } = cluster.status();
      const rows = requests.list();
      return () => mapped(rows, (row) => ({ ...row, node }));
    },
  };
}
