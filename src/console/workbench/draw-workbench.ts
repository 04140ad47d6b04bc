/** Drawing of the query workbench: the editor, the prompt or completion below it, a rule, the result. */

import { escapeControls } from "../../base/index.ts";
import { inAscii } from "../format/ascii.ts";
import { fill } from "../format/box-frame.ts";
import { cellsOfLine, cutLine, fitLine, inverse, withTone } from "../format/fit-line.ts";
import { count, milliseconds, plural } from "../format/numbers.ts";
import { humanDuration } from "../format/times.ts";
import type { Edit, WorkbenchState } from "../model/state.ts";
import { type Line, type Span, span } from "../model/text.ts";
import type { Tables } from "./complete-sql.ts";
import { drawRow, editorRows, rowOfCursor, type Toned } from "./editor-lines.ts";
import { ASKING_LABELS, suggestionsOf } from "./name-prompt.ts";
import { failureLines, hintLines } from "./result-hints.ts";
import { type ResultTable, resultLines, resultTable } from "./result-table.ts";
import { parametersOf, tokenizeSql } from "./sql-tokens.ts";
import { FUNCTIONS, RESERVED } from "./sql-words.ts";
import { countOf } from "./step-result.ts";
import { editorCells, PROMPT_CELLS, type Regions, regionsOf, type Size } from "./workbench-layout.ts";

interface WorkbenchDrawing extends Size {
  readonly isAscii: boolean;
  /** Time in milliseconds since 1970. */
  readonly now: number;
}

/** Draws the workbench: exactly `rows` lines, none wider than `columns`. */
export function drawWorkbench(workbench: WorkbenchState, tables: Tables, drawing: WorkbenchDrawing): readonly Line[] {
  const regions = regionsOf(workbench, drawing);
  const { columns, rows, isAscii } = drawing;
  const shown = drawResult(workbench, tables, regions, drawing);
  const lines = [
    ...drawEditor(workbench, regions.editor, columns),
    ...fill(drawParams(workbench, regions.params, columns), regions.params),
    ...(regions.line === 0 ? [] : [drawAsking(workbench) ?? drawCompletion(workbench, columns)]),
    ...(regions.rule === 0 ? [] : [drawRule(workbench, shown, drawing)]),
    ...shown.lines,
  ];
  const cut = fill(lines, rows).map((line) => cutLine(line, columns));
  return isAscii ? inAscii(cut) : cut;
}

function drawEditor(
  { edit, isEditing, isEditingParams, asking }: WorkbenchState,
  rows: number,
  columns: number,
): readonly Line[] {
  const hasCursor = isEditing && !isEditingParams && asking === undefined;
  return drawEdit({ edit, hasCursor, rows, columns, tones: tonesOf(edit.text) }, (line) =>
    line === 0 ? "sql>" : "   >",
  );
}

interface EditDrawing {
  readonly edit: Edit;
  readonly hasCursor: boolean;
  readonly rows: number;
  readonly columns: number;
  readonly tones: readonly Toned[];
}

/** Draws the editor, scrolled to the cursor. `prompt` returns the prompt of a text line, counted from 0. */
function drawEdit(
  { edit, hasCursor, rows, columns, tones }: EditDrawing,
  prompt: (line: number) => string,
): readonly Line[] {
  const all = editorRows(edit.text, editorCells(columns));
  const first = Math.max(0, Math.min(rowOfCursor(all, edit.at) - Math.floor(rows / 2), all.length - rows));
  let line = all.slice(0, first).filter(({ isLast }) => isLast).length;
  return all.slice(first, first + rows).map((row) => {
    const before = row.isFirst ? prompt(line) : "";
    if (row.isLast) line += 1;
    return [span(before.padEnd(PROMPT_CELLS), "dim"), ...drawRow(edit, row, tones, hasCursor ? edit.at : undefined)];
  });
}

const FUNCTION_WORDS: ReadonlySet<string> = new Set(FUNCTIONS);

/** Highlights SQL keywords and dims comments. */
function tonesOf(sql: string): readonly Toned[] {
  return tokenizeSql(sql).flatMap(({ kind, text, from, to }): readonly Toned[] => {
    if (kind === "comment") return [{ from, to, tone: "dim" }];
    const word = text.toLowerCase();
    return kind === "word" && (RESERVED.has(word) || FUNCTION_WORDS.has(word)) ? [{ from, to, tone: "strong" }] : [];
  });
}

function drawParams(
  { params, isEditingParams, paramsEdit, edit }: WorkbenchState,
  rows: number,
  columns: number,
): readonly Line[] {
  if (rows === 0) return [];
  if (isEditingParams) {
    const drawing = { edit: paramsEdit ?? { text: "", at: 0 }, hasCursor: true, rows, columns, tones: [] };
    return drawEdit(drawing, (line) => `${String(line + 1).padStart(3)}>`);
  }
  const wanted = parametersOf(edit.text);
  const values = params.flatMap((value, at): readonly Span[] => [
    span(`  ${at + 1} = `, "dim"),
    { text: escapeControls(value.slice(0, 200)) },
  ]);
  const isShort = wanted !== undefined && wanted > params.length;
  const missing = span(`  ${wanted ?? 0} wanted, ${params.length} given: ctrl-p`, "warn");
  return [[span("params:", "dim"), ...(isShort ? [missing] : []), ...values]];
}

function drawAsking(workbench: WorkbenchState): Line | undefined {
  const { asking } = workbench;
  if (asking === undefined) return undefined;
  const { text, at } = asking.edit;
  const under = text.slice(at, at + String.fromCodePoint(text.codePointAt(at) ?? 32).length);
  const names = suggestionsOf(workbench);
  return [
    span(`${ASKING_LABELS[asking.kind]}: `, "strong"),
    span(escapeControls(text.slice(0, at))),
    { text: escapeControls(under === "" ? " " : under), isInverse: true },
    span(escapeControls(text.slice(at + under.length))),
    ...(names.length === 0 ? [] : [span(`   ${names.join("  ")}`, "dim")]),
  ];
}

/** Draws the candidates around the selected one, and its number. */
function drawCompletion({ completion }: WorkbenchState, columns: number): Line {
  if (completion === undefined) return [];
  const { candidates, at } = completion;
  const place = ` ${at + 1}/${candidates.length}`;
  const room = Math.max(1, columns - place.length - 1);
  // Shows whole pages of words, so that the line does not move while the selection moves within a page.
  let first = 0;
  let left = room;
  for (let index = 0; index <= at; index += 1) {
    const cells = (candidates[index]?.length ?? 0) + 2;
    if (cells > left && index > first) [first, left] = [index, room];
    left -= cells;
  }
  const shown = candidates
    .slice(first, first + room)
    .flatMap((word, index): readonly Span[] => [
      { text: escapeControls(word), ...(first + index === at && { isInverse: true }) },
      { text: "  " },
    ]);
  return [...fitLine(shown, room), span(place, "dim")];
}

interface Shown {
  readonly lines: readonly Line[];
  readonly table?: ResultTable;
}

function drawResult(
  workbench: WorkbenchState,
  tables: Tables,
  regions: Regions,
  { columns, isAscii }: WorkbenchDrawing,
): Shown {
  const { run, result, isEditing } = workbench;
  switch (run.kind) {
    case "none":
      return { lines: hintLines(tables, columns) };
    case "running":
      return { lines: [] };
    case "failed":
      return { lines: failureLines(run.message, columns) };
    case "done": {
      const total = countOf(workbench);
      const last = Math.max(0, total - Math.max(1, regions.rows));
      // The screen may have changed since the last step, so the offset is limited again.
      const offset = Math.min(Math.max(result.offset, result.row - Math.max(1, regions.rows) + 1), last, result.row);
      const column = result.isJson
        ? result.column
        : Math.min(result.column, Math.max(0, run.result.columns.length - 1));
      const window = { offset, column, rows: regions.rows, cells: Math.max(1, columns - 1), isAscii };
      const mark = (line: Line, at: number): Line => {
        const isUnderCursor = !isEditing && offset + at === result.row;
        const whole: Line = [{ text: isUnderCursor ? ">" : " " }, ...line];
        return isUnderCursor ? inverse(fitLine(whole, columns)) : whole;
      };
      if (result.isJson) return { lines: resultLines(run.result, window).map(mark) };
      const table = resultTable(run.result, window);
      const none: readonly Line[] = total === 0 ? [[span(" no rows", "dim")]] : [];
      const head: readonly Line[] = regions.head === 0 ? [] : [[{ text: " " }, ...table.head]];
      return { lines: [...head, ...table.rows.map(mark), ...none], table };
    }
    default:
      return run satisfies never;
  }
}

function drawRule({ run, result }: WorkbenchState, { table }: Shown, { columns, now }: WorkbenchDrawing): Line {
  const left = ruleSpan(run, now);
  const right: Span[] = [];
  if (run.kind === "done") {
    if (run.asked.missing !== undefined) right.push(span(` ${run.asked.missing} `, "warn"));
    const all = run.result.columns.length;
    const from = Math.min(result.column, Math.max(0, all - 1));
    if (table !== undefined && (from > 0 || table.end < all)) {
      right.push(span(` columns ${from + 1}-${Math.max(from + 1, table.end)} of ${all} `, "dim"));
    }
    right.push(span(result.isJson ? " JSON " : " table ", "dim"));
  }
  const dashes = (cells: number): Span => span("─".repeat(Math.max(0, cells)), "dim");
  const content: Line = left === undefined ? [] : [{ ...left, text: ` ${left.text} ` }];
  const room = columns - 2 - cellsOfLine(content) - cellsOfLine(right) - (right.length > 0 ? 2 : 0);
  if (room < 0) return [dashes(2), ...content];
  return [dashes(2), ...content, dashes(room), ...withTone(right, "dim"), dashes(right.length > 0 ? 2 : 0)];
}

function ruleSpan(run: WorkbenchState["run"], now: number): Span | undefined {
  switch (run.kind) {
    case "none":
      return undefined;
    case "running":
      return span(`running ${humanDuration(now - run.since)}  Esc cancels`, "strong");
    case "failed":
      return span("failed", "fail");
    case "done": {
      const { rows, index } = run.result;
      return span(
        `${plural(rows.length, "row")} ${run.asked.nodesText}  ${milliseconds(run.tookMs)}  index ${count(index)}`,
      );
    }
    default:
      return run satisfies never;
  }
}
