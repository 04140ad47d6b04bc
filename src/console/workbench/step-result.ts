/** Keys of the result: rows up and down, columns left and right, copying a row. */

import { MOVING, type MovingId } from "../model/key-bindings.ts";
import type { Chord } from "../model/key-event.ts";
import type { WorkbenchState } from "../model/state.ts";
import { jsonLineOf, tsvOf, whyNoObjects } from "./export-result.ts";
import { JSON_SHIFT } from "./result-table.ts";
import { consumed, notConsumed, type WorkbenchFacts, type WorkbenchStep, withMessage } from "./workbench.ts";
import { regionsOf, type Size } from "./workbench-layout.ts";

const CHORDS: ReadonlyMap<Chord, MovingId> = new Map(
  (Object.keys(MOVING) as MovingId[]).flatMap((id) => MOVING[id].chords.map((chord) => [chord, id] as const)),
);

export function stepResult(workbench: WorkbenchState, chord: Chord, { size }: WorkbenchFacts): WorkbenchStep {
  const { row } = workbench.result;
  const move = (to: number) => consumed(moveTo(workbench, size, to));
  switch (CHORDS.get(chord)) {
    case "up":
      return move(row - 1);
    case "down":
      return move(row + 1);
    case "page_up":
      return consumed(pageResult(workbench, size, -1));
    case "page_down":
      return consumed(pageResult(workbench, size, 1));
    case "first":
      return move(0);
    case "last":
      return move(Number.MAX_SAFE_INTEGER);
    case "left":
      return consumed(shift(workbench, -1));
    case "right":
      return consumed(shift(workbench, 1));
    case "copy":
      return copy(workbench);
    default:
      return notConsumed(workbench);
  }
}

/** Returns the number of cursor positions: rows, or lines of the JSON document. */
export function countOf({ run, result: { isJson } }: WorkbenchState): number {
  return run.kind === "done" ? run.result.rows.length + (isJson ? 2 : 0) : 0;
}

export function pageResult(workbench: WorkbenchState, size: Size, by: 1 | -1): WorkbenchState {
  const page = Math.max(1, regionsOf(workbench, size).rows - 1);
  return moveTo(workbench, size, workbench.result.row + by * page);
}

function moveTo(workbench: WorkbenchState, size: Size, to: number): WorkbenchState {
  const last = Math.max(0, countOf(workbench) - 1);
  const row = Math.min(last, Math.max(0, to));
  const { rows } = regionsOf(workbench, size);
  const offset = Math.max(Math.min(workbench.result.offset, row), row - Math.max(1, rows) + 1, 0);
  return { ...workbench, result: { ...workbench.result, row, offset } };
}

function shift(workbench: WorkbenchState, by: 1 | -1): WorkbenchState {
  const { run, result } = workbench;
  if (run.kind !== "done") return workbench;
  const most = result.isJson
    ? Math.floor(jsonLineOf(run.result, result.row).length / JSON_SHIFT)
    : run.result.columns.length - 1;
  const column = Math.max(0, Math.min(most, result.column + by));
  return { ...workbench, result: { ...result, column } };
}

/** Switches the format. The row stays under the cursor; the first line of the document is not a row. */
export function toggleFormat(workbench: WorkbenchState): WorkbenchState {
  const { result, run } = workbench;
  const isJson = !result.isJson;
  const last = run.kind === "done" ? Math.max(0, run.result.rows.length - 1) : 0;
  const row = isJson ? result.row + 1 : Math.max(0, Math.min(last, result.row - 1));
  return { ...workbench, result: { row, offset: Math.min(result.offset, row), column: 0, isJson } };
}

function copy(workbench: WorkbenchState): WorkbenchStep {
  const { run, result } = workbench;
  if (run.kind !== "done") return withMessage(consumed(workbench), "there is no row to copy", "warn");
  if (result.isJson) {
    const reason = whyNoObjects(run.result);
    if (reason !== undefined) return withMessage(consumed(workbench), reason, "warn");
    return consumed(workbench, [{ kind: "copy", text: jsonLineOf(run.result, result.row) }]);
  }
  const row = run.result.rows[result.row];
  if (row === undefined) return withMessage(consumed(workbench), "there is no row to copy", "warn");
  return consumed(workbench, [{ kind: "copy", text: tsvOf(row) }]);
}
