/**
 * Steps a dialog. This is the only place where a change of the gateway begins: by the key `y` while no field has the focus and
 * no other text was typed there, by Ctrl-O anywhere, or by Enter in a field with exactly the expected text; never by a paste. A dialog opens in its
 * first required field and consumes every letter, so that a reason typed too early runs nothing. The dialog stays open while
 * the change runs; a text that is shown once exists only in the dialog. Source: operator console reference, B5 and B6.
 */

import { applyEdit, editAtEnd } from "../edit/edit.ts";
import { commandsOfTask } from "../format/command-line.ts";
import type { Dialog, Field, FieldValues } from "../model/dialog.ts";
import { DIALOG } from "../model/key-bindings.ts";
import { type Chord, characterOf, type KeyEvent } from "../model/key-event.ts";
import type { DialogState, Effect, State, Step } from "../model/state.ts";
import { commonStart } from "./common-start.ts";
import { contextOf } from "./current-view.ts";
import { openRehearsedRows } from "./dialog-rehearsal.ts";
import { withFlash } from "./flash.ts";
import { isTooSmall } from "./layout.ts";
import { withPreference } from "./preference-dialogs.ts";
import { whyChangesImpossible } from "./selectors.ts";
import { isOneOf, stateOnly } from "./step-helpers.ts";

export function openDialog(state: State, dialog: Dialog): State {
  const values = Object.fromEntries(dialog.fields.map(({ id, initial }) => [id, initial]));
  // The focus begins in a field, so that an operator who types a reason immediately does not press keys of commands.
  const focus = Math.max(0, firstMissing(dialog, values));
  const opened: DialogState = {
    id: state.nextId,
    dialog,
    values,
    focus: -1,
    typed: editAtEnd(""),
    edit: editAtEnd(""),
    stage: { kind: "asking" },
  };
  const place = dialog.fields.length === 0 ? confirmFocus(dialog) : focus;
  return { ...state, dialog: withFocus(opened, place), nextId: state.nextId + 1 };
}

/** Returns the index of the first required text that is empty, or -1. */
const firstMissing = ({ fields }: Dialog, values: FieldValues): number =>
  fields.findIndex((field) => field.kind === "text" && field.isRequired && (values[field.id] ?? "") === "");

/** Returns the focus where a dialog is confirmed: the field of a typed confirmation, otherwise -1, where `y` confirms. */
const confirmFocus = ({ fields, confirm }: Dialog): number => (confirm.kind === "typed" ? fields.length : -1);

/** Returns the focused field, or `typed` for that of a typed confirmation. */
export function focusOf({ dialog, focus }: DialogState): Field | "typed" | undefined {
  return focus === dialog.fields.length && dialog.confirm.kind === "typed" ? "typed" : dialog.fields[focus];
}

/** Returns the index of the box that the space bar toggles while check boxes have the focus. */
export const boxOf = ({ edit }: DialogState): number => edit.at;

/**
 * Returns the reason why the dialog cannot be confirmed; `undefined` if it can. An incomplete typed confirmation is not a
 * reason.
 */
export function whyNotConfirmed(state: State): string | undefined {
  const { dialog: open } = state;
  if (open === undefined) return "no dialog is open";
  const { dialog, values } = open;
  const refused = dialog.isLocal === true && !isTooSmall(state.size) ? undefined : whyChangesImpossible(state);
  if (refused !== undefined) return refused;
  for (const field of dialog.fields) {
    if (field.kind !== "text") continue;
    const text = values[field.id] ?? "";
    if (field.isRequired && text === "") return `${field.label}: required`;
    const reason = field.validate?.(text);
    if (reason !== undefined) return `${field.label}: ${reason}`;
  }
  return dialog.blockedReason?.(values, contextOf(state));
}

/** Returns the command lines that are equivalent to the dialog. */
export function commandsOf(state: State, { dialog, values }: DialogState): readonly string[] {
  const context = contextOf(state);
  return dialog.commands?.(values, context) ?? commandsOfTask(dialog.task(values, context), context);
}

export function stepDialog(state: State, open: DialogState, event: KeyEvent): Step {
  switch (open.stage.kind) {
    case "running":
      return event.kind === "key" && isOneOf(event.chord, DIALOG.leave)
        ? stateOnly(withFlash(state, `still running: ${open.stage.message}`))
        : stateOnly(state);
    case "done":
      return stepDone(state, event, open.stage.secret);
    case "asking":
    case "failed":
      return event.kind === "paste" ? pasteInto(state, open, event) : stepAsking(state, open, event.chord);
    default:
      return open.stage satisfies never;
  }
}

function stepDone(state: State, event: KeyEvent, secret: string): Step {
  if (event.kind === "key") {
    if (isOneOf(event.chord, DIALOG.leave)) return stateOnly({ ...state, dialog: undefined });
    if (isOneOf(event.chord, DIALOG.copy)) {
      return { state: withFlash(state, "copied"), effects: [{ kind: "copy", text: secret }] };
    }
  }
  return stateOnly(withFlash(state, "c copies it; Esc closes the dialog, and it is not shown again"));
}

function stepAsking(state: State, open: DialogState, chord: Chord): Step {
  if (isOneOf(chord, DIALOG.leave)) return stateOnly({ ...state, dialog: undefined });
  if (chord === "tab") return stepTab(state, open);
  if (chord === "shift-tab") return stateOnly(withDialog(state, moveFocus(open, -1)));
  if (isOneOf(chord, DIALOG.scroll_down)) return stateOnly(withDialog(state, scrollDialog(open, SCROLLED_LINES)));
  if (isOneOf(chord, DIALOG.scroll_up)) return stateOnly(withDialog(state, scrollDialog(open, -SCROLLED_LINES)));
  if (isOneOf(chord, DIALOG.confirm_now)) return confirmFromField(state, open);
  const field = focusOf(open);
  if (field === undefined) return stepUnfocused(state, open, chord);
  if (field === "typed") return stepTyped(state, open, chord);
  if (chord === "enter") return stateOnly(withDialog(state, afterEnter(open)));
  switch (field.kind) {
    case "text":
      return stepText(state, open, field, chord);
    case "choice":
      return stepChoice(state, open, field, chord);
    case "boxes":
      return stepBoxes(state, open, field, chord);
    default:
      return field satisfies never;
  }
}

/** Moves to the next empty required text, otherwise to where the dialog is confirmed. Enter itself never confirms here. */
function afterEnter(open: DialogState): DialogState {
  const missing = firstMissing(open.dialog, open.values);
  return withFocus(open, missing === -1 || missing === open.focus ? confirmFocus(open.dialog) : missing);
}

const SCROLLED_LINES = 8;

/** Maximum number of lines of a dialog's text and fields, without its attachment. */
const MAX_FILE_CANDIDATES = 24;

/** Scrolls the whole text of the dialog, whatever has the focus: everything can be read before it is confirmed. */
function scrollDialog(open: DialogState, by: number): DialogState {
  const most = (open.attachment?.lines?.length ?? 0) + MAX_FILE_CANDIDATES;
  return { ...open, scrolled: Math.max(0, Math.min(most, (open.scrolled ?? 0) + by)) };
}

/** Completes a file name, or moves to the next field if there is nothing to complete. */
function stepTab(state: State, open: DialogState): Step {
  const field = fileOf(open);
  const { edit, found } = open;
  if (field === undefined || edit.text === "" || edit.text === field.initial)
    return stateOnly(withDialog(state, moveFocus(open, 1)));
  if (found !== undefined) return stateOnly(withDialog(state, cycleFile(open, field, 1)));
  const effect: Effect = { kind: "complete", id: state.nextId, text: edit.text };
  return { state: { ...state, nextId: state.nextId + 1 }, effects: [effect] };
}

function fileOf(open: DialogState): (Field & { readonly kind: "text" }) | undefined {
  const field = focusOf(open);
  return field !== undefined && field !== "typed" && field.kind === "text" && field.isFile === true ? field : undefined;
}

/** Inserts a found file name, or the common start of several. Ignores results for an earlier text or another field. */
export function withFoundFile(open: DialogState, text: string, found: readonly string[]): DialogState {
  const field = fileOf(open);
  if (field === undefined || open.edit.text !== text || open.stage.kind === "running") return open;
  const start = found.length === 0 ? text : commonStart(found);
  if (found.length <= 1 && start === text) return moveFocus(open, 1);
  return {
    ...withValue(open, field.id, start),
    edit: editAtEnd(start),
    found: found.length === 1 ? undefined : found,
  };
}

function cycleFile(open: DialogState, field: Field, by: 1 | -1): DialogState {
  const { found = [], edit } = open;
  const at = found.indexOf(edit.text);
  const name = found[at === -1 && by === -1 ? found.length - 1 : (at + by + found.length) % found.length];
  return name === undefined ? open : { ...withValue(open, field.id, name), edit: editAtEnd(name), found };
}

function stepUnfocused(state: State, open: DialogState, chord: Chord): Step {
  const { confirm } = open.dialog;
  if (isOneOf(chord, DIALOG.confirm)) {
    if (confirm.kind === "typed") return stateOnly(withFlash(state, `${confirm.label}, then press Enter`));
    return open.hasStrayInput === true ? stateOnly(withFlash(state, STRAY, "warn")) : startTask(state, open);
  }
  if (isOneOf(chord, DIALOG.copy)) return copyCommands(state, open);
  if (isOneOf(chord, DIALOG.choose)) {
    const field =
      open.dialog.fields.find(({ kind }) => kind === "choice") ??
      open.dialog.fields.find((one) => one.kind === "text" && one.suggestions !== undefined);
    return stateOnly(
      field === undefined ? state : withDialog(state, cycleValue(open, field, chord === "left" ? -1 : 1)),
    );
  }
  if (chord === "enter") {
    const rows = open.hasStrayInput === true ? undefined : openRehearsedRows(state, open);
    if (rows !== undefined) return stateOnly(rows);
    const hint = confirm.kind === "yes" ? "y confirms, Esc cancels" : "Tab goes to the confirmation field";
    return stateOnly(withFlash(withDialog(state, { ...open, hasStrayInput: false }), hint));
  }
  if (characterOf(chord) === undefined) return stateOnly(state);
  // Remembers that text was typed outside of any field: a `y` within it is not a confirmation.
  return stateOnly(withFlash(withDialog(state, { ...open, hasStrayInput: true }), STRAY));
}

/** Confirms the dialog from within a field. A text that must be typed has to be complete. */
function confirmFromField(state: State, open: DialogState): Step {
  const { confirm } = open.dialog;
  if (confirm.kind === "typed" && open.typed.text !== confirm.expected(open.values))
    return stateOnly(withFlash(state, `${confirm.label}, then press Enter`));
  return startTask(state, open);
}

const STRAY = "no field is selected: press Enter, then y to confirm, or Esc to cancel";

function stepTyped(state: State, open: DialogState, chord: Chord): Step {
  const { confirm } = open.dialog;
  if (chord === "enter" && confirm.kind === "typed") {
    if (open.typed.text === confirm.expected(open.values)) return startTask(state, open);
    const rows = open.typed.text === "" ? openRehearsedRows(state, open) : undefined;
    return stateOnly(rows ?? withFlash(state, "the typed text does not match"));
  }
  const typed = applyEdit(open.typed, { kind: "key", chord }, { isMultiline: false });
  return stateOnly(typed === undefined ? state : withDialog(state, { ...open, typed }));
}

function stepText(state: State, open: DialogState, field: Field & { readonly kind: "text" }, chord: Chord): Step {
  if (chord === "up" || chord === "down") {
    const by = chord === "up" ? -1 : 1;
    if (open.found !== undefined) return stateOnly(withDialog(state, cycleFile(open, field, by)));
    return stateOnly(withDialog(state, withFocus(cycleValue(open, field, by), open.focus)));
  }
  return stateOnly(editField(state, open, field, { kind: "key", chord }));
}

function stepChoice(state: State, open: DialogState, field: Field, chord: Chord): Step {
  const named = field.kind === "choice" ? field.choices.find((one) => one.toLowerCase() === chord) : undefined;
  if (named !== undefined) return stateOnly(withDialog(state, withValue(open, field.id, named)));
  const by =
    chord === "left" || chord === "up" ? -1 : chord === "right" || chord === "down" || chord === "space" ? 1 : 0;
  if (by === 0) return stateOnly(withFlash(state, `${field.label}: Left and Right change it, Tab goes on`));
  return stateOnly(withDialog(state, cycleValue(open, field, by)));
}

function stepBoxes(state: State, open: DialogState, field: Field & { readonly kind: "boxes" }, chord: Chord): Step {
  const { choices, id } = field;
  const at = boxOf(open);
  const box = choices[at];
  if (chord === "space" && box !== undefined) {
    const ticked = new Set((open.values[id] ?? "").split(","));
    if (!ticked.delete(box)) ticked.add(box);
    return stateOnly(withDialog(state, withValue(open, id, choices.filter((one) => ticked.has(one)).join(","))));
  }
  const by = chord === "left" || chord === "up" ? -1 : chord === "right" || chord === "down" ? 1 : 0;
  if (by === 0) return stateOnly(withFlash(state, `${field.label}: Space ticks a box, Tab goes on`));
  const next = choices.length === 0 ? 0 : (at + by + choices.length) % choices.length;
  return stateOnly(withDialog(state, { ...open, edit: { text: "", at: next } }));
}

function pasteInto(state: State, open: DialogState, event: KeyEvent & { readonly kind: "paste" }): Step {
  const field = focusOf(open);
  if (field === "typed") {
    const typed = applyEdit(open.typed, event, { isMultiline: false }) ?? open.typed;
    return stateOnly(withDialog(state, { ...open, typed }));
  }
  if (field?.kind === "text") return stateOnly(editField(state, open, field, event));
  return stateOnly(withFlash(state, DROPPED, "warn"));
}

export const DROPPED = "the pasted text was ignored: no text field is selected";

function startTask(state: State, open: DialogState): Step {
  const reason = whyNotConfirmed(state);
  if (reason !== undefined) return stateOnly(withFlash(state, reason, "warn"));
  const { dialog, values, id } = open;
  const context = contextOf(state);
  const preserved = dialog.keeps?.(values);
  if (preserved !== undefined)
    return withPreference({ ...state, dialog: undefined }, preserved.change, preserved.message);
  const running: DialogState = {
    ...open,
    stage: { kind: "running", message: dialog.confirm.button, since: state.now },
    undo: dialog.undo?.(values, context),
  };
  const effect: Effect = { kind: "task", id, task: dialog.task(values, context) };
  return { state: withDialog(state, running), effects: [effect] };
}

function copyCommands(state: State, open: DialogState): Step {
  const commands = commandsOf(state, open);
  if (commands.length === 0) return stateOnly(withFlash(state, "no command line does this"));
  return {
    state: withFlash(
      state,
      commands.length === 1 ? "copied the command line" : `copied ${commands.length} command lines`,
    ),
    effects: [{ kind: "copy", text: commands.join("\n") }],
  };
}

const withDialog = (state: State, dialog: DialogState): State => ({ ...state, dialog });

/** Moves the focus to the next or previous field, cyclically; in between, no field has it and `y` confirms. */
function moveFocus(open: DialogState, by: 1 | -1): DialogState {
  const { fields, confirm } = open.dialog;
  const places = fields.length + (confirm.kind === "typed" ? 1 : 0) + 1;
  return withFocus(open, ((open.focus + 1 + by + places) % places) - 1);
}

function withFocus(open: DialogState, focus: number): DialogState {
  const field = open.dialog.fields[focus];
  const text = field?.kind === "text" ? (open.values[field.id] ?? "") : "";
  return { ...open, focus, edit: editAtEnd(text), found: undefined, hasStrayInput: false, scrolled: undefined };
}

function editField(state: State, open: DialogState, field: Field, event: KeyEvent): State {
  const isTyped = event.kind === "paste" || characterOf(event.chord) !== undefined;
  const isReplaced = field.kind === "text" && field.isProposal === true && isTyped && open.edit.text === field.initial;
  const edit = applyEdit(isReplaced ? editAtEnd("") : open.edit, event, { isMultiline: false });
  if (edit === undefined) return state;
  return withDialog(state, { ...withValue(open, field.id, edit.text), edit });
}

/**
 * Selects the next or previous value of the field, cyclically; a text that is none of them is replaced by the first or the
 * last.
 */
function cycleValue(open: DialogState, field: Field, by: 1 | -1): DialogState {
  const choices = field.kind === "text" ? (field.suggestions ?? []) : field.kind === "choice" ? field.choices : [];
  const at = choices.indexOf(open.values[field.id] ?? "");
  const next = choices[at === -1 && by === -1 ? choices.length - 1 : (at + by + choices.length) % choices.length];
  return next === undefined ? open : withValue(open, field.id, next);
}

/** Sets a value and clears an earlier failure, which belongs to the previous values. */
function withValue(open: DialogState, id: string, value: string): DialogState {
  const values: FieldValues = { ...open.values, [id]: value };
  return { ...open, values, found: undefined, scrolled: undefined, stage: { kind: "asking" } };
}
