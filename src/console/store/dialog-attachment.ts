/** Attachment of the open dialog: requested when the dialog opens or its subject changes, canceled when it closes. */

import type { DialogState, Effect, Step } from "../model/state.ts";
import { focusOf } from "./step-dialog.ts";

/** Updates the attachment after every step; `before` is the dialog that was open. */
export function withAttachment(before: DialogState | undefined, { state, effects }: Step): Step {
  const { dialog: open } = state;
  if (open === before) return { state, effects };
  const wanted = open === undefined ? undefined : requestedPage(open);
  const asked = wanted === undefined ? undefined : JSON.stringify(wanted);
  const kept = open?.attachment;
  if (open !== undefined && asked === kept?.asked) return { state, effects };
  const last = before?.attachment;
  const ended: readonly Effect[] =
    last !== undefined && last.lines === undefined ? [{ kind: "cancel", id: last.id }] : [];
  if (open === undefined || wanted === undefined || asked === undefined) {
    return { state, effects: [...effects, ...ended] };
  }
  const id = state.nextId;
  return {
    state: { ...state, nextId: id + 1, dialog: { ...open, attachment: { id, asked, lines: undefined } } },
    effects: [...effects, ...ended, { kind: "load", id, request: wanted }],
  };
}

/** Returns the wanted page. While a text is typed, the loaded page is kept: a letter does not cause a request. */
function requestedPage(open: DialogState): ReturnType<NonNullable<DialogState["dialog"]["attached"]>> {
  const field = focusOf(open);
  const isTyping = field !== undefined && field !== "typed" && field.kind === "text";
  if (isTyping && open.attachment !== undefined) return JSON.parse(open.attachment.asked);
  return open.dialog.attached?.(open.values);
}
