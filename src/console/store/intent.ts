/**
 * Execution of intents, the results of verbs and commands. Nothing here changes a gateway: at most it opens a dialog that asks.
 */

import { editAtEnd } from "../edit/edit.ts";
import { nodesOf } from "../model/nodes.ts";
import type { Effect, State, Step } from "../model/state.ts";
import type { Intent, LocalJob, View } from "../model/view.ts";
import { openStatement } from "../workbench/run-statement.ts";
import { withFlash } from "./flash.ts";
import { bodyCells, bodyRows } from "./layout.ts";
import { navigateTo, withTable } from "./navigation.ts";
import { openDialog } from "./step-dialog.ts";
import { stateOnly } from "./step-helpers.ts";
import { openPage } from "./step-page.ts";

export function runIntent(state: State, intent: Intent, views: readonly View[]): Step {
  switch (intent.kind) {
    case "dialog":
      return stateOnly(openDialog(state, intent.dialog));
    case "go": {
      const there = navigateTo(state, intent.place);
      const { filter, row, sort, isNarrowed } = intent;
      if (filter === undefined && row === undefined && sort === undefined) return stateOnly(there);
      return stateOnly(
        withTable(there, {
          ...(filter !== undefined && { filter }),
          ...(sort !== undefined && { sort }),
          ...(isNarrowed !== undefined && { isNarrowed }),
          // Clears filters that would hide the target row.
          ...(row !== undefined && { cursorId: row, isNarrowed: false, ...(filter === undefined && { filter: "" }) }),
        }),
      );
    }
    case "page":
      return stateOnly(openPage(state, intent.title, intent.lines));
    case "load": {
      const opened = openPage(state, intent.title, undefined);
      return { state: opened, effects: [{ kind: "load", id: state.nextId, request: intent.load }] };
    }
    case "ask": {
      const { initial, ...asked } = intent;
      return stateOnly({ ...state, prompt: { ...asked, edit: editAtEnd(initial), before: initial } });
    }
    case "job": {
      const effect: Effect = { kind: "job", id: state.nextId, job: intent.job };
      const there = intent.place === undefined ? state : navigateTo(state, intent.place);
      return { state: withFlash({ ...there, nextId: state.nextId + 1 }, jobText(intent.job)), effects: [effect] };
    }
    case "cancel":
      return { state: withFlash(state, intent.message), effects: [{ kind: "cancel", id: intent.id }] };
    case "query":
      return toWorkbench(state, intent.sql, views);
    case "quit":
      return { state, effects: [{ kind: "quit" }] };
    case "flash":
      return stateOnly(withFlash(state, intent.message, intent.tone));
    default:
      return intent satisfies never;
  }
}

/** Runs the statement in the workbench; the text of its editor goes into the history. */
function toWorkbench(state: State, sql: string, views: readonly View[]): Step {
  const view = views.find(({ body }) => body.kind === "workbench");
  if (view === undefined) return stateOnly(withFlash(state, "this console has no query workbench"));
  const there = navigateTo(state, { view: view.id });
  const { data, now, nextId, size } = there;
  const { workbench, effects, usedIds } = openStatement(there.workbench, sql, {
    tables: data.get({ id: "list_query_tables" })?.value ?? [],
    nodes: nodesOf(data),
    now,
    nextId,
    size: { columns: bodyCells(size), rows: bodyRows(size) },
  });
  return { state: { ...there, workbench, nextId: nextId + usedIds }, effects };
}

/** Returns whether the workbench contains a statement that is not saved anywhere. */
export function isUnsaved({ workbench }: State): boolean {
  const { edit, history, statements } = workbench;
  const text = edit.text.trim();
  return text !== "" && !history.some((one) => one.trim() === text) && ![...statements.values()].includes(edit.text);
}

/** Quits, or asks if something would be lost; an accidental key does not confirm it. */
export function quit(state: State, views: readonly View[]): Step {
  if (!isUnsaved(state)) return { state, effects: [{ kind: "quit" }] };
  return runIntent(
    state,
    {
      kind: "ask",
      label: "the statement is not saved; leave? (yes or no)",
      initial: "",
      next: (text) =>
        /^\s*y(es)?\s*$/i.test(text)
          ? { kind: "quit" }
          : { kind: "flash", message: "not left; the statement is still in the editor" },
    },
    views,
  );
}

function jobText(job: LocalJob): string {
  switch (job.kind) {
    case "verify_audit":
      return `verifying ${job.file}`;
    case "sweep":
      return `sweeping ${job.argumentText}`;
    case "edit_document":
      return `opening ${job.path ?? job.source} in the editor`;
    case "save_text":
      return `saving ${job.what} to ${job.file}`;
    case "save_document":
    case "save_snapshot":
      return `saving ${job.file}`;
    default:
      return job satisfies never;
  }
}
