/**
 * Handling of virtual keys that are pasted or typed. The text of a key is not kept in any line, field or statement, and so
 * reaches no history and no request; its public id leads to the key, its user, and `X`. A hidden field accepts it, since it is
 * meant for secrets.
 */

import { editAtEnd } from "../edit/edit.ts";
import { keyIdIn, withoutKeys } from "../model/key-text.ts";
import type { DialogState, Edit, State, Step, WorkbenchState } from "../model/state.ts";
import type { View } from "../model/view.ts";
import { withFlash } from "./flash.ts";
import { runIntent } from "./intent.ts";
import { leftPrompt } from "./prompt.ts";
import { focusOf } from "./step-dialog.ts";
import { stateOnly } from "./step-helpers.ts";

/** Handles a pasted text that contains a key. Returns `undefined` if it contains none, or if the focused field is hidden. */
export function withPastedKey(state: State, text: string, views: readonly View[]): Step | undefined {
  const field = state.dialog === undefined ? undefined : focusOf(state.dialog);
  if (field !== undefined && field !== "typed" && field.kind === "text" && field.isUnseen === true) return undefined;
  const id = keyIdIn(text);
  return id === undefined ? undefined : openFoundKey(state, id, views);
}

/**
 * Checks the typed text, for terminals that do not distinguish a paste from keys. Returns `undefined` if no text contains a
 * key.
 */
export function withTypedKey(state: State, views: readonly View[]): Step | undefined {
  const id = textsIn(state)
    .map(keyIdIn)
    .find((it) => it !== undefined);
  return id === undefined ? undefined : openFoundKey(withoutTypedText(state), id, views);
}

function textsIn({ prompt, dialog, workbench: { edit, paramsEdit, asking } }: State): readonly string[] {
  return [
    prompt?.edit.text ?? "",
    ...(dialog === undefined ? [] : [dialog.typed.text, ...seenFields(dialog).map((id) => dialog.values[id] ?? "")]),
    ...[edit, paramsEdit, asking?.edit].map((it) => it?.text ?? ""),
  ];
}

const seenFields = ({ dialog: { fields } }: DialogState): readonly string[] =>
  fields.flatMap((field) => (field.kind === "text" && field.isUnseen !== true ? [field.id] : []));

/** Removes keys from dialogs and the workbench. The text of a prompt is discarded with the prompt. */
const withoutTypedText = (state: State): State => ({
  ...state,
  ...(state.dialog !== undefined && { dialog: cleanDialog(state.dialog) }),
  workbench: cleanWorkbench(state.workbench),
});

function cleanDialog(open: DialogState): DialogState {
  const cleaned = seenFields(open).map((id) => [id, withoutKeys(open.values[id] ?? "")] as const);
  const field = focusOf(open);
  const isUnseen = field !== undefined && field !== "typed" && field.kind === "text" && field.isUnseen === true;
  return {
    ...open,
    values: { ...open.values, ...Object.fromEntries(cleaned) },
    typed: redactEdit(open.typed),
    edit: isUnseen ? open.edit : redactEdit(open.edit),
  };
}

function cleanWorkbench(workbench: WorkbenchState): WorkbenchState {
  const { edit, paramsEdit, asking } = workbench;
  return {
    ...workbench,
    edit: redactEdit(edit),
    ...(paramsEdit !== undefined && { paramsEdit: redactEdit(paramsEdit) }),
    ...(asking !== undefined && { asking: { ...asking, edit: redactEdit(asking.edit) } }),
  };
}

function redactEdit(edit: Edit): Edit {
  const text = withoutKeys(edit.text);
  return text === edit.text ? edit : editAtEnd(text);
}

function openFoundKey(state: State, id: string, views: readonly View[]): Step {
  // The message must fit a line of 80 columns.
  const text = `key ${id}: the pasted text was not kept`;
  const isWriting = state.dialog !== undefined || (state.prompt === undefined && isInWorkbench(state, views));
  if (isWriting || !views.some((view) => view.id === KEYS)) {
    return stateOnly(withFlash(state, `${text}; \`:keys ${id}\` shows who uses it`, "warn"));
  }
  const closed = state.prompt === undefined ? state : leftPrompt(state, state.prompt);
  const { state: there, effects } = runIntent(
    closed,
    { kind: "go", place: { view: KEYS, subject: id }, filter: "" },
    views,
  );
  return { state: withFlash(there, `${text}; this view shows who uses it, and X revokes it`, "warn"), effects };
}

const KEYS = "keys";

const isInWorkbench = ({ place }: State, views: readonly View[]): boolean =>
  views.find(({ id }) => id === place.view)?.body.kind === "workbench";
