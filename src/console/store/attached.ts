/** What is read for the dialog on the screen: asked for when it opens and when it is about something else, ended with it. */

import type { DialogState, Effect, Step } from "../model/state.ts";
import { focusOf } from "./dialog.ts";

/** After every step; `before`: the dialog that was open. */
export function withAttachment(before: DialogState | undefined, { state, effects }: Step): Step {
  const { dialog: open } = state;
  if (open === before) return { state, effects };
  const wanted = open === undefined ? undefined : wantedBy(open);
  const asked = wanted === undefined ? undefined : JSON.stringify(wanted);
  const kept = open !== undefined && open.id === before?.id ? before.attachment : undefined;
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

/** While a text is typed, what was read first stays: not every letter is a question. */
function wantedBy(open: DialogState): ReturnType<NonNullable<DialogState["dialog"]["attached"]>> {
  const field = focusOf(open);
  const isTyping = field !== undefined && field !== "typed" && field.kind === "text";
  if (isTyping && open.attachment !== undefined) return JSON.parse(open.attachment.asked);
  return open.dialog.attached?.(open.values);
}
