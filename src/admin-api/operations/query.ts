/**
 * Operations that query the lists with SQL. Source: specification document 1, `gateway query`; the server's `query` folder
 * defines the supported subset.
 */

import { anything, choice, integer, list, object, optional, type TypeOf, text } from "../../base/index.ts";
import { ANSWERED_BY, EVERY_NODE } from "../every-node.ts";
import { answers, jsonBody, NO_BODY, NOTHING, type Operation } from "../operation-definition.ts";

/** Maximum length of a statement, in UTF-16 units. */
export const MAX_SQL_LENGTH = 65_536;
const MAX_PARAMS = 256;

const SQL_TYPES = ["text", "integer", "real", "boolean", "json", "unknown"] as const;

export const queryResult = object("Result of a statement.", {
  columns: list(
    "Columns of the result, in the order of the values in each row.",
    object("A column.", {
      name: text("Name or alias of the column."),
      type: choice("Type of the values. `json` is JSON text. `unknown`: no row has a value.", SQL_TYPES),
    }),
  ),
  rows: list(
    "Rows of the result. Values are strings, numbers, booleans or null.",
    list("A row.", anything("A value.")),
  ),
  index: integer("Raft log index at which all tables were read."),
  ...ANSWERED_BY,
});

export const queryTables = object("The tables that this caller may query.", {
  items: list(
    "Tables, sorted by name.",
    object("A table.", {
      name: text("Name."),
      description: text("Meaning of a row."),
      columns: list(
        "Columns of the table, in order.",
        object("A column.", {
          name: text("Name."),
          type: choice("Type of the values. `json` is JSON text; read its members with `->>`.", SQL_TYPES),
          description: text("Meaning of the values."),
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
    help: "Runs one SQL SELECT on the lists that the caller may read, all read at the same moment.",
    params: NOTHING,
    query: object("Query parameters. `nodes=all` applies to the lists that each node measures.", EVERY_NODE),
    body: jsonBody(
      object("The statement.", {
        sql: text("One SELECT statement.", { minLength: 1, maxLength: MAX_SQL_LENGTH }),
        params: optional(
          list(
            "Values for the `?` of the statement, in order: strings, numbers, booleans or null.",
            anything("A value."),
            {
              maxItems: MAX_PARAMS,
            },
          ),
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
