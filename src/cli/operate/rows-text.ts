/** Formats the rows of a list for `gateway get`: as a table, JSON, YAML, CSV (RFC 4180) or names only. */

import { csvLines } from "../../admin-api/index.ts";
import { escapeControlsOfLines } from "../../base/index.ts";
import type { Io } from "../process-io.ts";
import { tableLines } from "../table-text.ts";
import type { Format } from "./operate-flags.ts";
import { type ColumnSpec, type ListSpec, nameOf, type Row } from "./printable-lists.ts";

interface Shown {
  readonly list: ListSpec;
  readonly columns: readonly ColumnSpec[];
  readonly rows: readonly Row[];
}

/** Returns the lines, each with its line end. `hasHead`: whether a table or CSV begins with the column names. */
export async function linesOf(
  format: Format,
  { list, columns, rows }: Shown,
  io: Pick<Io, "columns" | "isTerminal">,
  hasHead = true,
): Promise<Iterable<string>> {
  switch (format) {
    case "table":
    case "wide": {
      const cells = rows.map((row) => columns.map(({ name }) => row[name]));
      const [head = "", ...lines] = tableLines(columns, cells, format === "wide" ? undefined : io.columns());
      return hasHead ? [head, ...lines] : lines;
    }
    case "json":
      return [
        `${escapeControlsOfLines(
          JSON.stringify(
            rows.map((row) => pick(row, columns)),
            null,
            2,
          ),
        )}\n`,
      ];
    case "yaml": {
      const { stringify } = await import("yaml");
      return [
        escapeControlsOfLines(
          stringify(
            rows.map((row) => pick(row, columns)),
            { lineWidth: 0 },
          ),
        ),
      ];
    }
    case "csv": {
      const cells = rows.map((row) => columns.map(({ name }) => row[name]));
      const typed = columns.map(({ name, isNumeric }) => ({ name, type: isNumeric ? "real" : "text" }) as const);
      const lines = [...csvLines({ columns: typed, rows: cells as never })];
      const texts = hasHead ? lines : lines.slice(1);
      return io.isTerminal("stdout") ? texts.map((it) => escapeControlsOfLines(it.replaceAll("\r\n", "\n"))) : texts;
    }
    case "name":
      return [...new Set(rows.map((row) => nameOf(list, row)))].map((name) => `${escapeControlsOfLines(name)}\n`);
    default:
      return format satisfies never;
  }
}

/** Formats one row with one column per line: `name: ci`. Lists and objects are written as JSON. */
export function recordLines(row: Row, columns: readonly ColumnSpec[]): readonly string[] {
  const width = Math.max(...columns.map(({ name }) => name.length)) + 1;
  return columns.map(({ name }) => {
    const value = row[name];
    const text =
      value === null || value === undefined ? "-" : typeof value === "string" ? value : JSON.stringify(value);
    return `${`${name}:`.padEnd(width)} ${escapeControlsOfLines(text)}\n`;
  });
}

/** Returns the row with these columns only; a missing value becomes null. */
export function pick(row: Row, columns: readonly ColumnSpec[]): Row {
  return Object.fromEntries(columns.map(({ name }) => [name, row[name] ?? null]));
}
