/**
 * Rehearsal of the open dialog. It starts when the dialog opens or its document changes, and is canceled when the dialog closes.
 */

import { hasRows, isSameRequest } from "../model/rehearsal.ts";
import type { DialogState, Effect, State, Step } from "../model/state.ts";
import { contextOf } from "./current-view.ts";
import { withFlash } from "./flash.ts";
import { navigateTo } from "./navigation.ts";

const REHEARSAL_PLACE = { view: "rehearsal" } as const;

/**
 * Starts or cancels the rehearsal after every step, because new data can also change the document. `before` is the dialog that
 * was open.
 */
export function withRehearsal(before: DialogState | undefined, step: Step): Step {
  const { state, effects } = step;
  const { dialog: open } = state;
  const next = open === undefined ? undefined : requestFor(state, open);
  const isKept = open?.rehearsal !== undefined && isSameRequest(next, open.rehearsal.request);
  const last = before?.rehearsal;
  const isLost = last !== undefined && last.outcome === undefined && !(isKept && open?.rehearsal?.id === last.id);
  const ended: readonly Effect[] = isLost ? [{ kind: "cancel", id: last.id }] : [];
  if (open === undefined || isKept || (next === undefined && open.rehearsal === undefined)) {
    return ended.length === 0 ? step : { state, effects: [...effects, ...ended] };
  }
  if (next === undefined) {
    return { state: { ...state, dialog: { ...open, rehearsal: undefined } }, effects: [...effects, ...ended] };
  }
  const id = state.nextId;
  const rehearsal = { id, request: next, outcome: undefined };
  return {
    state: { ...state, nextId: id + 1, dialog: { ...open, rehearsal } },
    effects: [...effects, ...ended, { kind: "rehearse", id, request: next }],
  };
}

const isTyping = ({ dialog, focus }: DialogState): boolean => dialog.fields[focus]?.kind === "text";

/** Returns the wanted rehearsal. Keeps the current one while a text is typed or the change is running. */
function requestFor(state: State, open: DialogState): NonNullable<DialogState["rehearsal"]>["request"] | undefined {
  const { rehearsal, stage, dialog, values } = open;
  const isAsking = stage.kind === "asking" || stage.kind === "failed";
  if (!isAsking || (isTyping(open) && rehearsal !== undefined)) return rehearsal?.request;
  return dialog.rehearses?.(values, contextOf(state));
}

/**
 * Puts the dialog aside and lists the requests of its rehearsal. Returns `undefined` if there is no rehearsal or it lists
 * nothing.
 */
export function openRehearsedRows(state: State, open: DialogState): State | undefined {
  const { rehearsal, attachment, dialog } = open;
  if (rehearsal === undefined) return undefined;
  const { outcome } = rehearsal;
  if (outcome === undefined) return withFlash(state, "still rehearsing the last hour; try again shortly");
  if (outcome.kind === "none" || !hasRows(outcome.result)) return undefined;
  // An attachment that is not read yet is read again when the dialog is restored.
  const isRead = attachment === undefined || attachment.lines !== undefined;
  const nextDialog: DialogState = isRead ? open : { ...open, attachment: undefined };
  const rehearsed = { title: dialog.title, result: outcome.result };
  return navigateTo(
    { ...state, rehearsed, dialog: undefined, suspendedDialog: { dialog: nextDialog, place: state.place } },
    REHEARSAL_PLACE,
  );
}

/** Reopens the dialog that was put aside, once the operator is back at its place with nothing open over it. */
export function reopenDialog(state: State): State {
  const { suspendedDialog, dialog, place, page, prompt } = state;
  if (suspendedDialog === undefined) return state;
  if (dialog !== undefined) return { ...state, suspendedDialog: undefined };
  if (place !== suspendedDialog.place || page !== undefined || prompt !== undefined) return state;
  return { ...state, suspendedDialog: undefined, dialog: suspendedDialog.dialog };
}
