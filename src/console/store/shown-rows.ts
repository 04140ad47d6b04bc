/**
 * Visible rows of the table as text: for a file (CSV as the columns show them, JSON as the admin API returned them) and for the
 * clipboard. Includes the marked rows if any, otherwise all filtered rows. Keys of this gateway and of providers are masked, as
 * in a recording.
 */

import { csvLines } from "../../admin-api/index.ts";
import { escapeControlsOfLines } from "../../base/index.ts";
import { cleanSpan } from "../format/fit-line.ts";
import { plural } from "../format/numbers.ts";
import type { PageState, State, Step } from "../model/state.ts";
import { textOfLine } from "../model/text.ts";
import type { Intent, View } from "../model/view.ts";
import { tsvOf } from "../workbench/export-result.ts";
import { contextOf, tableStateOf } from "./current-view.ts";
import { withFlash } from "./flash.ts";
import type { Listing } from "./listing.ts";
import { maskText } from "./mask-state.ts";
import { selectionOf } from "./selectors.ts";
import { stateOnly } from "./step-helpers.ts";

/** Returns positions in the table, in the order on the screen. */
function rowsToSave(state: State, { table, order }: Listing, views: readonly View[]): readonly number[] {
  if (tableStateOf(state).marks.size === 0) return order;
  const chosen = new Set(selectionOf(state, views).ids);
  return order.filter((at) => chosen.has(table.idOf(at)));
}

function cellsOfRow({ table }: Listing, at: number, now: number): readonly string[] {
  return table.columns.map((_, column) => maskText(cleanSpan(table.cell(at, column, now)).text.trim()));
}

/** Returns the text of the file in the format of its extension; `undefined` if that is neither `.csv` nor `.json`. */
function fileText(file: string, listing: Listing, rows: readonly number[], now: number): string | undefined {
  const { table } = listing;
  if (/\.csv$/i.test(file)) {
    const columns = table.columns.map(({ head }) => ({ name: head.toLowerCase(), type: "text" as const }));
    return [...csvLines({ columns, rows: rows.map((at) => cellsOfRow(listing, at, now)) })].join("");
  }
  if (!/\.json$/i.test(file)) return undefined;
  const lines = rows.map((at) => escapeControlsOfLines(JSON.stringify(table.jsonOf(at), masked) ?? "null"));
  return lines.length === 0 ? "[]\n" : `[\n${lines.join(",\n")}\n]\n`;
}

const masked = (_: string, value: unknown): unknown => (typeof value === "string" ? maskText(value) : value);

/** Asks for a file name; asks again if the name has no known extension. */
export function saveTable(state: State, listing: Listing, views: readonly View[]): Intent {
  const { place } = state;
  const rows = rowsToSave(state, listing, views);
  if (rows.length === 0) return { kind: "flash", message: "there are no rows to save" };
  const what = plural(rows.length, "row");
  const asked = (label: string, initial: string): Intent => ({
    kind: "ask",
    label,
    initial,
    isFile: true,
    next(text) {
      const file = text.trim();
      const content = fileText(file, listing, rows, contextOf(state).now);
      return content === undefined
        ? asked("the name must end in .csv or .json", file)
        : { kind: "job", job: { kind: "save_text", file, text: content, what } };
    },
  });
  return asked(`save ${what} to (.csv or .json)`, `${fileName(place.view, place.subject)}.csv`);
}

/** Asks for a file name for a page of text. */
export function savePage({ title, lines }: PageState): Intent {
  if (lines === undefined) return { kind: "flash", message: "there is nothing to save yet" };
  const text = lines.map((line) => `${maskText(textOfLine(line))}\n`).join("");
  return {
    kind: "ask",
    label: `save ${plural(lines.length, "line")} to`,
    initial: `${fileName(title, undefined)}.txt`,
    isFile: true,
    next: (file) => ({
      kind: "job",
      job: { kind: "save_text", file: file.trim(), text, what: plural(lines.length, "line") },
    }),
  };
}

/** Maximum length of the part of a proposed name that comes from a title or subject, in characters. */
const MAX_NAME = 60;

const fileName = (name: string, subject: string | undefined): string =>
  [name, ...(subject === undefined ? [] : [subject])]
    .join("-")
    .replace(/[^\w.-]+/g, "-")
    .replace(/^[-.]+|-+$/g, "")
    .slice(0, MAX_NAME)
    .toLowerCase() || "rows";

/** Copies the row under the cursor, or the marked rows: one line each, with the visible columns separated by tabs. */
export function copyRows(state: State, listing: Listing, views: readonly View[]): Step {
  const { table, order } = listing;
  const chosen = new Set(selectionOf(state, views).ids);
  const rows = order.filter((at) => chosen.has(table.idOf(at)));
  if (rows.length === 0) return stateOnly(withFlash(state, "there is no row to copy"));
  const { now } = contextOf(state);
  const text = rows.map((at) => tsvOf(cellsOfRow(listing, at, now))).join("\n");
  return {
    state: withFlash(state, rows.length === 1 ? "copied the row" : `copied ${plural(rows.length, "row")}`),
    effects: [{ kind: "copy", text }],
  };
}

/** Copies the cell of that column in the row under the cursor, or in the marked ones. */
export function copyCells(state: State, listing: Listing, column: number, views: readonly View[]): Step {
  const { table, order } = listing;
  const chosen = new Set(selectionOf(state, views).ids);
  const { now } = contextOf(state);
  const texts = order
    .filter((at) => chosen.has(table.idOf(at)))
    .map((at) => cellsOfRow(listing, at, now)[column] ?? "");
  if (texts.length === 0) return stateOnly(withFlash(state, "there is no row to copy"));
  const head = table.columns[column]?.head ?? "";
  return { state: withFlash(state, `copied ${head}`), effects: [{ kind: "copy", text: texts.join("\n") }] };
}
