/**
 * Layout of the workbench: the number of lines of each part. The step moves the result by it and the drawing fills it, so that
 * both agree on the size of a page. The editor is as high as its statement, up to two fifths; the result has the rest.
 */

import type { WorkbenchState } from "../model/state.ts";
import { editorRows } from "./editor-lines.ts";
import { parametersOf } from "./sql-tokens.ts";

export interface Size {
  readonly columns: number;
  readonly rows: number;
}

export interface Regions {
  readonly editor: number;
  /** Line of the parameters, or their editor. */
  readonly params: number;
  /** Line of the completion, or of the prompt. */
  readonly line: number;
  readonly rule: number;
  /** Column heads of a result; 0 if it has none. */
  readonly head: number;
  /** Rows of the result. */
  readonly rows: number;
}

/** Width of `sql> `, also used for the indentation. One more cell is reserved for the cursor after the last character. */
export const PROMPT_CELLS = 5;
export const editorCells = (columns: number): number => Math.max(2, columns - PROMPT_CELLS - 1);

const MAX_PARAM_ROWS = 6;

export function regionsOf(workbench: WorkbenchState, { columns, rows }: Size): Regions {
  const { edit, run, result } = workbench;
  const most = Math.max(1, Math.floor((rows * 2) / 5));
  const editor = Math.min(most, editorRows(edit.text, editorCells(columns)).length);
  const params = Math.min(paramRows(workbench, columns), Math.max(0, rows - editor));
  const line = Math.min(hasLine(workbench) ? 1 : 0, Math.max(0, rows - editor - params));
  const rule = Math.min(1, Math.max(0, rows - editor - params - line));
  const left = Math.max(0, rows - editor - params - line - rule);
  const head = run.kind === "done" && !result.isJson ? Math.min(1, left) : 0;
  return { editor, params, line, rule, head, rows: left - head };
}

const hasLine = ({ completion, asking }: WorkbenchState): boolean => completion !== undefined || asking !== undefined;

function paramRows({ params, isEditingParams, paramsEdit, edit }: WorkbenchState, columns: number): number {
  if (isEditingParams) return Math.min(MAX_PARAM_ROWS, editorRows(paramsEdit?.text ?? "", editorCells(columns)).length);
  return params.length > 0 || (parametersOf(edit.text) ?? 0) > 0 ? 1 : 0;
}
