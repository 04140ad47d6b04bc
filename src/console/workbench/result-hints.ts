/** Text in place of a result: how to begin, or why there is none. While the tables are unknown, neither is shown. */

import { escapeControls } from "../../base/index.ts";
import { wrapLine } from "../format/fit-line.ts";
import { plural } from "../format/numbers.ts";
import { BLANK, type Line, line, span } from "../model/text.ts";
import type { Tables } from "./complete-sql.ts";

interface Example {
  readonly sql: string;
  /** Tables that the example reads. */
  readonly tables: readonly string[];
}

/** Example statements. A test runs them against the gateway's own engine. */
export const EXAMPLES: readonly Example[] = [
  { sql: "select name, state, error_ratio from backends order by error_ratio desc;", tables: ["backends"] },
  { sql: "select status, count(*) as keys from keys group by status;", tables: ["keys"] },
  {
    sql: "select k.name, b.used, b.limit from keys k join budgets b on b.key = k.name;",
    tables: ["keys", "budgets"],
  },
  { sql: "select kind, name, reason, until from suspensions where status = 'active';", tables: ["suspensions"] },
  { sql: "select model, provider, failover ->> 0 as next from models;", tables: ["models"] },
];

const SHOWN_EXAMPLES = 3;

export function hintLines(tables: Tables, columns: number): readonly Line[] {
  const names = new Set(tables.map(({ name }) => name));
  const fitting = EXAMPLES.filter((example) => example.tables.every((name) => names.has(name)));
  return [
    line("One SELECT over the lists of the admin API, read at one moment; nothing is written.", "dim"),
    tablesLine(tables),
    ...(fitting.length === 0 ? [] : [BLANK, line("For example:", "dim")]),
    ...fitting.slice(0, SHOWN_EXAMPLES).map(({ sql }) => line(`  ${sql}`)),
  ].flatMap((it) => wrapLine(it, columns));
}

function tablesLine(tables: Tables): Line {
  if (tables.length === 0)
    return line("Your policy lets you read none of the tables; ask for their list actions.", "warn");
  const names = tables.map(({ name }) => escapeControls(name)).join("  ");
  return [span(`you may read ${plural(tables.length, "table")}:  `, "dim"), span(names)];
}

/** Returns the gateway's error message with all its lines. */
export const failureLines = (message: string, columns: number): readonly Line[] =>
  message.split("\n").flatMap((text) => wrapLine([span(escapeControls(text), "fail")], columns));
