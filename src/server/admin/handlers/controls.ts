/** Controls that rules cite, and the number of decisions for each. */

import type { ControlRecord } from "../../../admin-api/index.ts";
import { counted, fixed, type ListSource } from "../lists.ts";
import type { Ports } from "../ports.ts";

/** Changes with the configuration, and at most once a second with the counts. */
export function controlList({ cluster, controls }: Ports): ListSource<ControlRecord> {
  return {
    ...counted((listener) => controls.onChange(listener)),
    async take() {
      const { nodeId: node } = cluster.status();
      return fixed((await controls.list()).map((row) => ({ ...row, node })));
    },
  };
}
