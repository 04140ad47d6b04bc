/** Keys of the statement's editor that do more than edit: Enter, completion, and the way through the history. */

import { applyEdit, editAtEnd } from "../edit/edit.ts";
import type { Edit, WorkbenchState } from "../model/state.ts";
import { complete, type Tables } from "./complete.ts";
import { MAX_STATEMENT_LENGTH } from "./memory.ts";
import { runStatement } from "./running.ts";
import { isFinished } from "./sql-tokens.ts";
import { saying, taken, type WorkbenchFacts, type WorkbenchStep } from "./workbench.ts";

/** A changed text is the operator's own again, not one of the history. */
export function withEdit(workbench: WorkbenchState, edit: Edit): WorkbenchState {
  const isChanged = edit.text !== workbench.edit.text;
  return { ...workbench, edit, completion: undefined, recalled: isChanged ? undefined : workbench.recalled };
}

export function enter(workbench: WorkbenchState, facts: WorkbenchFacts): WorkbenchStep {
  if (isFinished(workbench.edit.text)) return runStatement(workbench, facts);
  const edit = applyEdit(workbench.edit, { kind: "key", chord: "enter" }, { isMultiline: true });
  return taken(edit === undefined ? workbench : withEdit(workbench, edit));
}

/** The first time the best word, then the one after (`by` 1) or before (-1), round and round. */
export function completeNext(workbench: WorkbenchState, tables: Tables, by: 1 | -1): WorkbenchStep {
  const { edit, completion } = workbench;
  const open = completion ?? complete(edit.text, edit.at, tables);
  if (open === undefined) return saying(taken(workbench), "nothing to complete here");
  const { words, from } = open;
  const at =
    completion === undefined ? (by === 1 ? 0 : words.length - 1) : (completion.at + by + words.length) % words.length;
  const word = words[at] ?? "";
  const text = edit.text.slice(0, from) + word + edit.text.slice(edit.at);
  if (text.length > MAX_STATEMENT_LENGTH)
    return saying(taken(workbench), "the statement is as long as it may be", "warn");
  return taken({
    ...workbench,
    edit: { text, at: from + word.length },
    // What is alone is chosen, and nothing is left to show.
    completion: words.length === 1 ? undefined : { words, from, at },
    recalled: undefined,
  });
}

/** Up in the first line and down in the last one; between them the cursor moves. */
export function recallBy(workbench: WorkbenchState, by: 1 | -1): WorkbenchStep {
  const { edit, history, recalled, draft } = workbench;
  const moved = applyEdit(edit, { kind: "key", chord: by === 1 ? "down" : "up" }, { isMultiline: true });
  if (moved !== undefined) return taken(withEdit(workbench, moved));
  const at = (recalled ?? history.length) + by;
  if (at < 0 || at > history.length) return taken({ ...workbench, completion: undefined });
  const isDraft = at === history.length;
  const text = isDraft ? draft : (history[at] ?? "");
  const end = by === 1 ? text.length : firstLineEnd(text);
  return taken({
    ...workbench,
    edit: { ...editAtEnd(text), at: end },
    completion: undefined,
    recalled: isDraft ? undefined : at,
    draft: recalled === undefined ? edit.text : draft,
  });
}

/** There the next Up goes on to the statement before. */
function firstLineEnd(text: string): number {
  const end = text.indexOf("\n");
  return end < 0 ? text.length : end;
}
