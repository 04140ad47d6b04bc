/** Names that requests may ask for, as the configuration routes them. */

import type { ModelRecord } from "../../../admin-api/index.ts";
import { fixedRows, type ListSource } from "../lists.ts";
import type { Ports } from "../ports.ts";

export function modelList({ backends }: Ports): ListSource<ModelRecord> {
  let changes = 0;
  return {
    version: () => changes,
    watch: (onChange) =>
      backends.onChange((what) => {
        if (what !== "configuration") return;
        changes += 1;
        onChange();
      }),
    take: () => fixedRows(backends.models()),
  };
}
