/**
 * Name prompt of the workbench: to save the statement, to load a saved one, or for the file of a result. Saved names are shown,
 * and Tab completes them.
 */

import { applyEdit, editAtEnd } from "../edit/edit.ts";
import { plural } from "../format/numbers.ts";
import type { KeyEvent } from "../model/key-event.ts";
import type { WorkbenchState } from "../model/state.ts";
import { exportOf, isCsv, whyNoObjects } from "./export-result.ts";
import { loadStatement } from "./run-statement.ts";
import { STATEMENT_NAME, whyTooMany } from "./saved-statements.ts";
import { consumed, notConsumed, type WorkbenchFacts, type WorkbenchStep, withMessage } from "./workbench.ts";

type Asking = NonNullable<WorkbenchState["asking"]>;

/** Maximum length of a file name, in UTF-16 units. */
const MAX_NAME_LENGTH = 4_096;

export const ASKING_LABELS: Readonly<Record<Asking["kind"], string>> = {
  save: "save the statement as",
  recall: "load the statement",
  export: "save the result to the file",
};

/** Opens the prompt for a name, or shows why there is nothing to save or load. */
export function ask(workbench: WorkbenchState, kind: Asking["kind"], { now }: WorkbenchFacts): WorkbenchStep {
  const { statements, run } = workbench;
  if (kind === "recall" && statements.size === 0) {
    return withMessage(consumed(workbench), "no statement is saved yet; Ctrl-S saves one");
  }
  if (kind === "export" && run.kind !== "done")
    return withMessage(consumed(workbench), "there is no result to save", "warn");
  const edit = editAtEnd(kind === "export" ? fileName(now) : "");
  return consumed({ ...workbench, asking: { kind, edit }, completion: undefined });
}

/** Returns `query-20261120T140207Z.csv`. The time makes the name new; an existing file is replaced only after a question. */
const fileName = (now: number): string => `query-${new Date(now).toISOString().slice(0, 19).replace(/[-:]/g, "")}Z.csv`;

export function stepAsking(workbench: WorkbenchState, event: KeyEvent, facts: WorkbenchFacts): WorkbenchStep {
  const { asking } = workbench;
  if (asking === undefined) return consumed(workbench);
  const chord = event.kind === "key" ? event.chord : undefined;
  if (chord === "esc") return consumed({ ...workbench, asking: undefined });
  if (chord === "enter") return answer(workbench, asking, facts);
  if (chord === "tab" && asking.kind === "export") {
    return consumed(workbench, [{ kind: "complete", id: facts.nextId, text: asking.edit.text }], 1);
  }
  if (chord === "tab") {
    const text = commonStart(suggestionsOf(workbench)) ?? asking.edit.text;
    return consumed({ ...workbench, asking: { ...asking, edit: editAtEnd(text) } });
  }
  const edit = applyEdit(asking.edit, event, { isMultiline: false });
  if (edit === undefined) return notConsumed(workbench);
  return edit.text.length > MAX_NAME_LENGTH
    ? consumed(workbench)
    : consumed({ ...workbench, asking: { ...asking, edit, found: undefined } });
}

/** Returns names that begin with the typed text; for files, those that were looked up. */
export function suggestionsOf({ asking, statements }: WorkbenchState): readonly string[] {
  if (asking === undefined) return [];
  if (asking.kind === "export") return asking.found ?? [];
  return [...statements.keys()].filter((name) => name.startsWith(asking.edit.text)).sort();
}

function commonStart([first, ...others]: readonly string[]): string | undefined {
  if (first === undefined) return undefined;
  let length = first.length;
  for (const other of others) while (!other.startsWith(first.slice(0, length))) length -= 1;
  return first.slice(0, length);
}

function answer(workbench: WorkbenchState, asking: Asking, { nextId }: WorkbenchFacts): WorkbenchStep {
  const name = asking.edit.text.trim();
  const closed: WorkbenchState = { ...workbench, asking: undefined };
  if (name === "") return consumed(closed);
  switch (asking.kind) {
    case "save":
      return save(workbench, closed, name);
    case "recall": {
      const known = closed.statements.has(name) ? name : singleName(suggestionsOf(workbench));
      const sql = known === undefined ? undefined : closed.statements.get(known);
      if (sql === undefined) return withMessage(consumed(workbench), `no statement is saved as ${name}`, "warn");
      const loaded = loadStatement(closed, sql);
      return consumed({ ...loaded.workbench, isEditing: true }, loaded.effects);
    }
    case "export": {
      if (closed.run.kind !== "done") return consumed(closed);
      const { result } = closed.run;
      const reason = isCsv(name) ? undefined : whyNoObjects(result);
      if (reason !== undefined) return withMessage(consumed(workbench), `${reason}, or save it as .csv`, "warn");
      const what = plural(result.rows.length, "row");
      const job = { kind: "save_text", file: name, text: exportOf(result, name), what } as const;
      const step = consumed(closed, [{ kind: "job", id: nextId, job }], 1);
      return withMessage(step, `saving ${what} to ${name}`);
    }
    default:
      return asking.kind satisfies never;
  }
}

const singleName = (names: readonly string[]): string | undefined => (names.length === 1 ? names[0] : undefined);

/** Saves a statement; an empty one deletes the name. */
function save(workbench: WorkbenchState, closed: WorkbenchState, name: string): WorkbenchStep {
  if (!STATEMENT_NAME.test(name)) {
    return withMessage(consumed(workbench), "a name has 1 to 64 letters, digits, `_`, `-` or `.`", "warn");
  }
  const { text } = closed.edit;
  const isKnown = closed.statements.has(name);
  const statements = new Map(closed.statements);
  if (text.trim() === "") {
    if (!statements.delete(name)) return withMessage(consumed(closed), "there is no statement to save", "warn");
  } else statements.set(name, text);
  const reason = whyTooMany(statements);
  if (reason !== undefined) return withMessage(consumed(closed), reason, "warn");
  const step = consumed({ ...closed, statements }, [
    { kind: "remember", what: { name: "statements", as: name, statement: statements.get(name) ?? "" } },
  ]);
  return withMessage(step, `${text.trim() === "" ? "deleted" : isKnown ? "replaced" : "saved as"} ${name}`);
}
