/**
 * Reducer of the query workbench. Pure: side effects are returned as data. While editing, every character is typed; the
 * workbench's other keys work in all modes, and Esc goes back by one: from the parameters, the completion, a running statement,
 * the editor, and then out of the view.
 */

import { applyEdit } from "../edit/edit.ts";
import type { KeyEvent } from "../model/key-event.ts";
import type { Event, WorkbenchState } from "../model/state.ts";
import { ask, stepAsking } from "./name-prompt.ts";
import { cancelRun, runDone, runFailed, runStatement, turnNodes } from "./run-statement.ts";
import { historyOf, statementsOf, trimHistory } from "./saved-statements.ts";
import { completeNext, enter, recallBy, withEdit } from "./step-editor.ts";
import { pageResult, stepResult, toggleFormat } from "./step-result.ts";
import { consumed, notConsumed, type WorkbenchFacts, type WorkbenchStep, withMessage } from "./workbench.ts";
import { modeOf, type WorkbenchKeyId, workbenchKeyOf } from "./workbench-keys.ts";

export function stepWorkbench(workbench: WorkbenchState, event: Event, facts: WorkbenchFacts): WorkbenchStep {
  switch (event.kind) {
    case "key":
    case "paste":
      return stepKey(workbench, event, facts);
    case "query_done":
      return runDone(workbench, event, facts);
    case "query_failed":
      return runFailed(workbench, event);
    case "remembered":
      return event.name === "preferences"
        ? notConsumed(workbench)
        : consumed(withRemembered(workbench, event.name, event.text));
    default:
      return notConsumed(workbench);
  }
}

/** Merges stored texts into the workbench. Its own entries are newer and stay. */
function withRemembered(workbench: WorkbenchState, name: "history" | "statements", text: string): WorkbenchState {
  if (name === "statements") {
    return { ...workbench, statements: new Map([...statementsOf(text), ...workbench.statements]) };
  }
  return {
    ...workbench,
    history: trimHistory([...historyOf(text), ...workbench.history]),
    historyIndex: undefined,
  };
}

function stepKey(workbench: WorkbenchState, event: KeyEvent, facts: WorkbenchFacts): WorkbenchStep {
  const mode = modeOf(workbench);
  const key = event.kind === "key" ? workbenchKeyOf(event.chord, mode) : undefined;
  if (key !== undefined && mode !== "asking") {
    const step = stepVerb(workbench, key, facts);
    if (step !== undefined) return step;
  }
  switch (mode) {
    case "asking":
      return stepAsking(workbench, event, facts);
    case "params":
      return typeParam(workbench, event);
    case "editor": {
      const edit = applyEdit(workbench.edit, event, { isMultiline: true });
      return edit === undefined ? notConsumed(workbench) : consumed(withEdit(workbench, edit));
    }
    case "result":
      return event.kind === "paste" ? notConsumed(workbench) : stepResult(workbench, event.chord, facts);
    default:
      return mode satisfies never;
  }
}

/** Runs a verb of the workbench. Returns `undefined` if the key is passed on to the focused part. */
function stepVerb(workbench: WorkbenchState, key: WorkbenchKeyId, facts: WorkbenchFacts): WorkbenchStep | undefined {
  switch (key) {
    case "run":
      return runStatement(closeParams(workbench), facts);
    case "line":
      return enter(workbench, facts);
    case "complete":
      return completeNext(workbench, facts.tables, 1);
    case "complete_before":
      return completeNext(workbench, facts.tables, -1);
    case "earlier":
      return recallBy(workbench, -1);
    case "later":
      return recallBy(workbench, 1);
    case "page_up":
      return consumed(pageResult(workbench, facts.size, -1));
    case "page_down":
      return consumed(pageResult(workbench, facts.size, 1));
    case "params":
      return consumed(workbench.isEditingParams ? closeParams(workbench) : openParams(workbench));
    case "nodes":
      return turnNodes(workbench, facts);
    case "format":
      return consumed(toggleFormat(workbench));
    case "save":
    case "recall":
    case "export":
      return ask(workbench, key, facts);
    case "edit":
      return consumed({ ...workbench, isEditing: true });
    case "leave":
      return leaveEditor(workbench, facts);
    case "copy":
    case "accept":
    case "complete_name":
      return undefined;
    default:
      return key satisfies never;
  }
}

function leaveEditor(workbench: WorkbenchState, { now }: WorkbenchFacts): WorkbenchStep {
  if (workbench.isEditingParams) return consumed(closeParams(workbench));
  if (workbench.completion !== undefined) return consumed({ ...workbench, completion: undefined });
  if (workbench.run.kind === "running") return cancelRun(workbench, now);
  // Esc leaves the view if the result has the focus.
  return workbench.isEditing ? consumed({ ...workbench, isEditing: false }) : notConsumed(workbench);
}

const openParams = (workbench: WorkbenchState): WorkbenchState => {
  const text = workbench.params.join("\n");
  return { ...workbench, isEditingParams: true, completion: undefined, paramsEdit: { text, at: text.length } };
};

const closeParams = (workbench: WorkbenchState): WorkbenchState =>
  workbench.isEditingParams ? { ...workbench, isEditingParams: false, paramsEdit: undefined } : workbench;

/** Maximum number of parameters, which is the gateway's limit. */
const MAX_PARAMS = 256;

function typeParam(workbench: WorkbenchState, event: KeyEvent): WorkbenchStep {
  const edit = applyEdit(workbench.paramsEdit ?? { text: "", at: 0 }, event, { isMultiline: true });
  if (edit === undefined) return notConsumed(workbench);
  // A trailing line end does not begin another value.
  const text = edit.text.replace(/\n$/, "");
  const params = text === "" ? [] : text.split("\n");
  if (params.length > MAX_PARAMS)
    return withMessage(consumed(workbench), `a statement has at most ${MAX_PARAMS} values`, "warn");
  return consumed({ ...workbench, paramsEdit: edit, params });
}
