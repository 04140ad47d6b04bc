/** SQL over the lists that a caller may read. A table of `query` exists exactly if its list action is permitted. */

import { gatherRows } from "../everywhere.ts";
import type { Handlers } from "../handler.ts";
import { describeTables } from "../query/index.ts";

export const queryHandlers: Pick<Handlers, "run_query" | "list_query_tables"> = {
  async run_query({ body: { sql, params = [] }, query: { nodes }, tables, signal }, { query, cluster }) {
    const gather = nodes === "all" ? gatherRows(cluster) : undefined;
    return { value: await query.run({ sql, params, tables, gather, signal }) };
  },
  list_query_tables({ tables }) {
    return { value: describeTables(tables) };
  },
};
