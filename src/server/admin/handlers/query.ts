/** SQL over the lists that a caller may read. A table of `query` exists exactly if its list action is permitted. */

import { gatherRows } from "../gather-nodes.ts";
import { type Handlers, JsonText } from "../handler-types.ts";
import { describeTables, type QueryAnswer } from "../query/index.ts";

export const queryHandlers: Pick<Handlers, "run_query" | "list_query_tables"> = {
  async run_query({ body: { sql, params = [] }, query: { nodes }, tables, signal }, { query, cluster }) {
    const gather = nodes === "all" ? gatherRows(cluster) : undefined;
    return { value: answerText(await query.run({ sql, params, tables, gather, signal })) };
  },
  list_query_tables({ tables }) {
    return { value: describeTables(tables) };
  },
};

function answerText({ columns, rows, ...others }: QueryAnswer): JsonText {
  const head = `{"columns":${JSON.stringify(columns)},"rows":[`;
  const tail = `],${JSON.stringify(others).slice(1)}\n`;
  return new JsonText(rows.length > 1 ? [head, ...rows, tail] : [head + rows.join("") + tail]);
}
