/** Operations of the lists, derived from their definitions. */

import type { ObjectSchema } from "../base/index.ts";
import { LISTS, type TableName } from "./list-table.ts";
import { NO_BODY, NOTHING, type Operation } from "./operation-definition.ts";

interface ListOperation<T extends TableName> extends Operation {
  readonly method: "GET";
  readonly group: "read";
  readonly params: typeof NOTHING;
  readonly query: (typeof LISTS)[T]["query"];
  readonly body: typeof NO_BODY;
  readonly answer: { readonly kind: "list"; readonly table: T };
}

export const listOperations = Object.fromEntries(
  Object.entries(LISTS).map(([table, { help, query }]) => [
    `list_${table}`,
    operationOf(table as TableName, help, query),
  ]),
) as { readonly [T in TableName as `list_${T}`]: ListOperation<T> };

function operationOf(table: TableName, help: string, query: ObjectSchema): Operation {
  return {
    method: "GET",
    path: `/${table}`,
    group: "read",
    resource: { kind: "Table", name: table },
    help,
    params: NOTHING,
    query,
    body: NO_BODY,
    answer: { kind: "list", table },
    codes: ["no_leader"],
  };
}
