/** Editor keys of the workbench beyond editing: Enter, completion, and the history. */

import { applyEdit, editAtEnd } from "../edit/edit.ts";
import type { Edit, WorkbenchState } from "../model/state.ts";
import { complete, type Tables } from "./complete-sql.ts";
import { runStatement } from "./run-statement.ts";
import { MAX_STATEMENT_LENGTH } from "./saved-statements.ts";
import { isFinished } from "./sql-tokens.ts";
import { consumed, type WorkbenchFacts, type WorkbenchStep, withMessage } from "./workbench.ts";

/** Sets the text; a changed text is no longer a history entry. */
export function withEdit(workbench: WorkbenchState, edit: Edit): WorkbenchState {
  const isChanged = edit.text !== workbench.edit.text;
  return { ...workbench, edit, completion: undefined, historyIndex: isChanged ? undefined : workbench.historyIndex };
}

/** Runs the statement if it ends with a semicolon, and otherwise begins a new line. */
export function enter(workbench: WorkbenchState, facts: WorkbenchFacts): WorkbenchStep {
  if (isFinished(workbench.edit.text)) return runStatement(workbench, facts);
  const edit = applyEdit(workbench.edit, { kind: "key", chord: "enter" }, { isMultiline: true });
  return consumed(edit === undefined ? workbench : withEdit(workbench, edit));
}

/** Inserts the best candidate, then the next (`by` 1) or previous (-1) one, cyclically. */
export function completeNext(workbench: WorkbenchState, tables: Tables, by: 1 | -1): WorkbenchStep {
  const { edit, completion } = workbench;
  const open = completion ?? complete(edit.text, edit.at, tables);
  if (open === undefined) return withMessage(consumed(workbench), "nothing to complete here");
  const { candidates, from } = open;
  const at =
    completion === undefined
      ? by === 1
        ? 0
        : candidates.length - 1
      : (completion.at + by + candidates.length) % candidates.length;
  const word = candidates[at] ?? "";
  const text = edit.text.slice(0, from) + word + edit.text.slice(edit.at);
  if (text.length > MAX_STATEMENT_LENGTH)
    return withMessage(consumed(workbench), "the statement has reached its maximum length", "warn");
  return consumed({
    ...workbench,
    edit: { text, at: from + word.length },
    // A single candidate is inserted, and no list is shown.
    completion: candidates.length === 1 ? undefined : { candidates, from, at },
    historyIndex: undefined,
  });
}

/** Goes through the history: up in the first line, down in the last one; in other lines the cursor moves. */
export function recallBy(workbench: WorkbenchState, by: 1 | -1): WorkbenchStep {
  const { edit, history, historyIndex, draft } = workbench;
  const moved = applyEdit(edit, { kind: "key", chord: by === 1 ? "down" : "up" }, { isMultiline: true });
  if (moved !== undefined) return consumed(withEdit(workbench, moved));
  const at = (historyIndex ?? history.length) + by;
  if (at < 0 || at > history.length) return consumed({ ...workbench, completion: undefined });
  const isDraft = at === history.length;
  const text = isDraft ? draft : (history[at] ?? "");
  const end = by === 1 ? text.length : firstLineEnd(text);
  return consumed({
    ...workbench,
    edit: { ...editAtEnd(text), at: end },
    completion: undefined,
    historyIndex: isDraft ? undefined : at,
    draft: historyIndex === undefined ? edit.text : draft,
  });
}

/** Returns the end of the first line, where the next Up continues to the previous statement. */
function firstLineEnd(text: string): number {
  const end = text.indexOf("\n");
  return end < 0 ? text.length : end;
}
