/** Execution of a statement: the query, the history, and the result. */

import type { QueryResult } from "../../admin-api/index.ts";
import { escapeControls } from "../../base/index.ts";
import { editAtEnd } from "../edit/edit.ts";
import { gapText } from "../format/missing-nodes.ts";
import { humanDuration } from "../format/times.ts";
import type { Effect, Event, QueryScope, WorkbenchState } from "../model/state.ts";
import { cleanStatement, trimHistory } from "./saved-statements.ts";
import { parametersOf } from "./sql-tokens.ts";
import { consumed, type WorkbenchFacts, type WorkbenchStep, withMessage } from "./workbench.ts";

/** Runs the statement, and cancels a running one. */
export function runStatement(workbench: WorkbenchState, { now, nextId }: WorkbenchFacts): WorkbenchStep {
  const { text: sql } = workbench.edit;
  if (sql.trim() === "") return withMessage(consumed(workbench), "there is no statement to run", "warn");
  // Sends only as many values as the statement has `?`; the others stay available for the next statement.
  const params = workbench.params.slice(0, parametersOf(sql));
  const kept = remembering(workbench, sql);
  return consumed(
    {
      ...kept.workbench,
      completion: undefined,
      historyIndex: undefined,
      draft: "",
      run: { kind: "running", id: nextId, sql, since: now },
      result: { ...workbench.result, row: 0, offset: 0, column: 0 },
    },
    [
      ...cancelEffects(workbench),
      ...kept.effects,
      { kind: "query", id: nextId, sql, params, ...(workbench.isOfOneNode && { isOfOneNode: true }) },
    ],
    1,
  );
}

export function cancelRun(workbench: WorkbenchState, now: number): WorkbenchStep {
  const { run } = workbench;
  if (run.kind !== "running") return consumed(workbench);
  const message = `canceled after ${humanDuration(now - run.since)}`;
  return consumed({ ...workbench, run: { kind: "failed", message } }, cancelEffects(workbench));
}

const cancelEffects = ({ run }: WorkbenchState): readonly Effect[] =>
  run.kind === "running" ? [{ kind: "cancel", id: run.id }] : [];

/** Runs a statement from another view, with the focus on its result. The text of the editor goes into the history. */
export function openStatement(workbench: WorkbenchState, sql: string, facts: WorkbenchFacts): WorkbenchStep {
  const { workbench: loaded } = loadStatement(workbench, sql);
  return runStatement({ ...loaded, isEditing: false }, facts);
}

/** Loads a statement into the editor; the previous text goes into the history. */
export function loadStatement(
  workbench: WorkbenchState,
  sql: string,
): { readonly workbench: WorkbenchState; readonly effects: readonly Effect[] } {
  const { workbench: kept, effects } = remembering(workbench, workbench.edit.text);
  const edit = editAtEnd(cleanStatement(sql));
  const loaded = {
    ...kept,
    edit,
    historyIndex: undefined,
    draft: "",
    completion: undefined,
    asking: undefined,
    isEditingParams: false,
    paramsEdit: undefined,
  };
  return { workbench: loaded, effects };
}

function remembering(
  workbench: WorkbenchState,
  sql: string,
): { readonly workbench: WorkbenchState; readonly effects: readonly Effect[] } {
  if (sql.trim() === "" || workbench.history.at(-1) === sql) return { workbench, effects: [] };
  const history = trimHistory([...workbench.history, sql]);
  return {
    workbench: { ...workbench, history },
    effects: [{ kind: "remember", what: { name: "history", statement: sql } }],
  };
}

export function runDone(
  workbench: WorkbenchState,
  { id, result, tookMs, isOfOneNode }: Extract<Event, { readonly kind: "query_done" }>,
  facts: WorkbenchFacts,
): WorkbenchStep {
  if (workbench.run.kind !== "running" || workbench.run.id !== id) return consumed(workbench);
  const asked = queriedNodes(result, isOfOneNode === true, facts);
  return consumed({ ...workbench, run: { kind: "done", result, tookMs, asked } });
}

function queriedNodes(
  { unanswered = [], cut = [] }: QueryResult,
  isOfOneNode: boolean,
  { nodes }: WorkbenchFacts,
): QueryScope {
  const missing = gapText({ unanswered, cut });
  return {
    nodesText: queriedText(isOfOneNode, nodes, unanswered.length),
    missing: missing === "" ? undefined : missing,
  };
}

/** Describes the queried nodes: `of all 3 nodes`, `of 2 of 3 nodes` or `of n1`. */
function queriedText(isOfOneNode: boolean, nodes: WorkbenchFacts["nodes"], unanswered = 0): string {
  if (nodes === undefined) return isOfOneNode ? "of one node" : "of all nodes";
  const { own, members } = nodes;
  if (isOfOneNode || members < 2) return `of ${escapeControls(own)}`;
  return unanswered === 0 ? `of all ${members} nodes` : `of ${members - unanswered} of ${members} nodes`;
}

/** Switches between all nodes and the connected one, for the next run. */
export function turnNodes(workbench: WorkbenchState, { nodes }: WorkbenchFacts): WorkbenchStep {
  const isOfOneNode = !workbench.isOfOneNode;
  const text = queriedText(isOfOneNode, nodes).replace(/^of /, "");
  return withMessage(consumed({ ...workbench, isOfOneNode }), `the next run asks ${text}`);
}

export function runFailed(
  workbench: WorkbenchState,
  { id, message }: { readonly id: number; readonly message: string },
): WorkbenchStep {
  const { run } = workbench;
  if (run.kind !== "running" || run.id !== id) return consumed(workbench);
  return consumed({ ...workbench, run: { kind: "failed", message: withPlace(message, run.sql) } });
}

/** Adds the line to an error message, which counts characters of the whole statement. */
function withPlace(text: string, sql: string): string {
  const found = /\bat character (\d{1,6})\b/.exec(text)?.[1];
  if (found === undefined || !sql.includes("\n")) return text;
  const before = sql.slice(0, Math.max(0, Number(found) - 1)).split("\n");
  return `${text} (line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1})`;
}
