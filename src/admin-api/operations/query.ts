/**
 * Operations that query the lists with SQL. Source: specification document 1, `gateway query`; the server's `query` folder
 * defines the supported subset.
 */

import { anything, choice, integer, list, object, optional, type TypeOf, text } from "../../base/index.ts";
import { ANSWERED_BY, EVERY_NODE } from "../every-node.ts";
import { answers, jsonBody, NO_BODY, NOTHING, type Operation } from "../operation.ts";

/** Maximum length of a statement, in UTF-16 units. */
export const MAX_SQL_LENGTH = 65_536;
const MAX_PARAMS = 256;

export const SQL_TYPES = ["text", "integer", "real", "boolean", "json", "unknown"] as const;

export const queryResult = object("What a statement came to.", {
  columns: list(
    "In the order of the rows' values.",
    object("A column.", {
      name: text("Its name, or that of its alias."),
      type: choice("Of its values; `json`: JSON text; `unknown`: no row has one.", SQL_TYPES),
    }),
  ),
  rows: list("Values are texts, numbers, booleans or null.", list("A row.", anything("A value."))),
  index: integer("Log index at which all of its tables were read."),
  ...ANSWERED_BY,
});

export const queryTables = object("The tables that this caller may query.", {
  items: list(
    "In the order of their names.",
    object("A table.", {
      name: text("Its name."),
      description: text("What a row is."),
      columns: list(
        "In order.",
        object("A column.", {
          name: text("Its name."),
          type: choice("Of its values; `json`: JSON text, read with `->>`.", SQL_TYPES),
          description: text("What it holds."),
        }),
      ),
    }),
  ),
});

export const queryOperations = {
  run_query: {
    method: "POST",
    path: "/query",
    group: "read",
    resource: { kind: "Table", name: "query" },
    help: "Runs one SQL SELECT over the lists that the caller may read, all at one moment.",
    params: NOTHING,
    query: object("Of which nodes; `nodes=all` is about the lists of what a node has measured.", EVERY_NODE),
    body: jsonBody(
      object("The statement.", {
        sql: text("One SELECT.", { minLength: 1, maxLength: MAX_SQL_LENGTH }),
        params: optional(
          list("Values of its `?`, in order: texts, numbers, booleans or null.", anything("A value."), {
            maxItems: MAX_PARAMS,
          }),
        ),
      }),
    ),
    answer: answers(queryResult),
    codes: ["busy"],
  },
  list_query_tables: {
    method: "GET",
    path: "/query/tables",
    group: "read",
    resource: { kind: "Table", name: "query" },
    help: "Describes the tables that the caller may query.",
    params: NOTHING,
    query: NOTHING,
    body: NO_BODY,
    answer: answers(queryTables),
    codes: [],
  },
} as const satisfies Record<string, Operation>;

export type QueryResult = TypeOf<typeof queryResult>;
export type QueryTables = TypeOf<typeof queryTables>;
