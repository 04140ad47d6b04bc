/**
 * Lines of a dialog at a given width: its text, its fields, the request and the equivalent command line, and why it cannot be
 * confirmed. Nothing is shortened, since everything must be readable before it is confirmed.
 */

import { cellsOf, escapeControls } from "../../base/index.ts";
import { wrapLine, wrapLines } from "../format/fit-line.ts";
import type { Action } from "../model/action.ts";
import type { Field, Task } from "../model/dialog.ts";
import type { DialogState, State } from "../model/state.ts";
import { BLANK, type Line, line, type Span } from "../model/text.ts";
import { contextOf } from "../store/current-view.ts";
import { progressText } from "../store/progress-text.ts";
import { boxOf, commandsOf, whyNotConfirmed } from "../store/step-dialog.ts";
import { editLine } from "./edit-line.ts";
import { REHEARSAL_LABEL, rehearsalLines } from "./rehearsal-lines.ts";

/** Maximum number of requests that are listed; the others are counted. */
const MAX_REQUESTS = 4;
const MAX_LABEL = 14;
const FOCUS = "> ";

interface DialogText {
  /** Scrollable part. */
  readonly body: readonly Line[];
  /** Index in `body` of the first line of the field with the focus. */
  readonly focusAt: number | undefined;
  /** Part that always stays on the screen: the question to answer. */
  readonly foot: readonly Line[];
}

export function dialogText(state: State, open: DialogState, cells: number): DialogText {
  switch (open.stage.kind) {
    case "asking":
      return questionText(state, open, cells, []);
    case "failed":
      return questionText(state, open, cells, wrapLine(line(`FAILED  ${open.stage.message}`, "fail"), cells));
    case "running":
      return {
        body: wrapLine(line(open.stage.message), cells),
        focusAt: undefined,
        foot: [BLANK, ...wrapLine(line(progressText(state, open.stage.since), "dim"), cells)],
      };
    case "done":
      return {
        body: [
          ...wrapLine(line(open.stage.message), cells),
          BLANK,
          ...wrapLine(line(open.stage.secret, "strong"), cells),
          BLANK,
          ...wrapLine(line("shown only once: copy it now (c)", "warn"), cells),
        ],
        focusAt: undefined,
        foot: [BLANK, line("Esc  close; it cannot be shown again", "dim")],
      };
    default:
      return open.stage satisfies never;
  }
}

function questionText(state: State, open: DialogState, cells: number, failure: readonly Line[]): DialogText {
  const { dialog, values, focus, rehearsal } = open;
  const context = contextOf(state);
  const rehearsed = rehearsal === undefined ? [] : rehearsalLines(rehearsal);
  const textLines = [
    ...rehearsed.map((content, at) => [at === 0 ? REHEARSAL_LABEL : "", content] as const),
    ...dialog.lines(values, context),
  ];
  // A mark before the label shows the focus; its width is always reserved, so that nothing moves.
  const ofFields = dialog.fields.map(({ label }) => `${FOCUS}${label}`);
  const labels = [...textLines.map(([label]) => label), ...ofFields, "Request", "Same as"];
  const width = Math.min(MAX_LABEL, Math.max(...labels.map(cellsOf)));
  const labeledLines = (label: string, content: Line, tone?: Span["tone"]): readonly Line[] =>
    besideLabel(label, width, wrapLine(content, Math.max(8, cells - width - 2)), tone);

  const body: Line[] = textLines.flatMap(([label, content]) => [...labeledLines(label, content)]);
  let focusAt: number | undefined;
  for (const [at, field] of dialog.fields.entries()) {
    const isFocused = focus === at;
    if (isFocused) focusAt = body.length;
    body.push(...fieldLines(field, open, isFocused, width, cells));
  }
  const reason = whyNotConfirmed(state);
  body.push(...requestLines(state, open, labeledLines), ...attachedLines(open, cells));
  return {
    body,
    focusAt,
    foot: [
      ...failure,
      ...(reason === undefined ? [] : wrapLine(line(reason, "fail"), cells)),
      BLANK,
      ...confirmLines(open, reason === undefined, cells),
    ],
  };
}

/** Returns the attachment. It comes last, because it may be long. */
function attachedLines({ attachment }: DialogState, cells: number): readonly Line[] {
  if (attachment === undefined) return [];
  const { lines } = attachment;
  return [BLANK, ...(lines === undefined ? [line("loading …", "dim")] : wrapLines(lines, cells))];
}

function besideLabel(
  label: string,
  width: number,
  lines: readonly Line[],
  tone: Span["tone"] = "dim",
): readonly Line[] {
  const isLong = cellsOf(label) > width;
  const blank = " ".repeat(width + 2);
  const beside = lines.map((content, at): Line => {
    const start = at === 0 && !isLong ? label + " ".repeat(width + 2 - cellsOf(label)) : blank;
    return [{ text: start, tone }, ...content];
  });
  return isLong ? [[{ text: label, tone }], ...beside] : beside;
}

function fieldLines(
  field: Field,
  state: DialogState,
  isFocused: boolean,
  width: number,
  cells: number,
): readonly Line[] {
  const room = Math.max(8, cells - width - 2);
  const value = state.values[field.id] ?? "";
  const content = fieldLine(field, value, state, isFocused, room);
  const label = `${isFocused ? FOCUS : ""}${field.label}`;
  return besideLabel(label, width, wrapLine(content, room), isFocused ? "strong" : "dim");
}

function fieldLine(field: Field, value: string, state: DialogState, isFocused: boolean, room: number): Line {
  switch (field.kind) {
    case "text": {
      if (field.isUnseen === true) return [{ text: `[${unseen(value)}]`, ...(isFocused && { isInverse: true }) }];
      if (!isFocused) return [{ text: `[${value}]` }];
      const hint: Line =
        field.isFile === true
          ? [{ text: fileHint(state), tone: "dim" }]
          : (field.suggestions ?? []).length > 0
            ? [{ text: suggestionHint(field, value), tone: "dim" }]
            : [];
      return [{ text: "[" }, ...editLine(state.edit, room - 2), { text: "]" }, ...hint];
    }
    case "choice":
      return field.choices.flatMap((choice): Line => {
        const isChosen = choice === value;
        return [
          {
            text: isChosen ? `<${choice}>` : ` ${choice} `,
            ...(isChosen && { isInverse: isFocused, tone: "strong" as const }),
          },
          { text: " " },
        ];
      });
    case "boxes": {
      const ticked = new Set(value.split(","));
      return field.choices.flatMap(
        (choice, at): Line => [
          { text: `[${ticked.has(choice) ? "x" : " "}] ${choice}`, isInverse: isFocused && at === boxOf(state) },
          { text: "   " },
        ],
      );
    }
    default:
      return field satisfies never;
  }
}

const suggestionHint = ({ isProposal, initial }: Field & { readonly kind: "text" }, value: string): string =>
  isProposal === true && value !== "" && value === initial
    ? "  the usual choice; type to replace, Up Down suggestions"
    : "  Up Down suggestions";

/** Maximum number of files in a line. */
const MAX_FILES = 5;

function fileHint({ found }: DialogState): string {
  if (found === undefined) return "  Tab completes it, Enter continues";
  const names = found.slice(0, MAX_FILES).map((path) => escapeControls(/[^/]*.$/su.exec(path)?.[0] ?? path));
  const more = found.length > MAX_FILES ? ` and ${found.length - MAX_FILES} more` : "";
  return `  ${names.join("  ")}${more}: Tab, Up and Down choose`;
}

/** Hides the text, and the exact length of a long one. */
export const unseen = (value: string): string =>
  value === "" ? "" : `${"*".repeat(Math.min(8, value.length))} ${value.length > 8 ? "and more, " : ""}not shown`;

type CreateLabeledLines = (label: string, content: Line) => readonly Line[];

function requestLines(state: State, open: DialogState, labeledLines: CreateLabeledLines): readonly Line[] {
  const requests = requestsOf(open.dialog.task(open.values, contextOf(state)));
  return [
    ...shortList("Request", requests, labeledLines),
    ...shortList("Same as", commandsOf(state, open), labeledLines),
  ];
}

/** Returns `PUT /admin/v1/…` for each action. */
export const requestsOf = (task: Task): readonly string[] =>
  actionsOf(task).map(({ request: { method, path } }) => `${method} ${path}`);

function actionsOf(task: Task): readonly Action[] {
  switch (task.kind) {
    case "actions":
      return task.actions;
    case "steps":
      return task.steps.flatMap(actionsOf);
    case "job":
      return [];
    default:
      return task satisfies never;
  }
}

function shortList(label: string, texts: readonly string[], labeledLines: CreateLabeledLines): readonly Line[] {
  const shown = texts.slice(0, MAX_REQUESTS);
  const more = texts.length - shown.length;
  return [
    ...shown.flatMap((text, at) => [...labeledLines(at === 0 ? label : "", line(text))]),
    ...(more > 0 ? labeledLines("", line(`and ${more} more`, "dim")) : []),
  ];
}

function confirmLines(state: DialogState, isPossible: boolean, cells: number): readonly Line[] {
  const { dialog, values, focus, typed } = state;
  const { confirm, isDangerous = false } = dialog;
  const tone = isDangerous ? ("fail" as const) : ("strong" as const);
  const button = (key: string): Span =>
    isPossible
      ? { text: ` ${key}  ${confirm.button} `, tone, isInverse: isDangerous }
      : { text: ` ${key}  ${confirm.button} `, tone: "dim" };
  if (confirm.kind === "yes") {
    const key = focus === -1 && state.hasStrayInput !== true ? "y" : "Enter, then y";
    return wrapLine([button(key), { text: "      " }, { text: "Esc  cancel", tone: "dim" }], cells);
  }
  const isFocused = focus === dialog.fields.length;
  const expected = confirm.expected(values);
  const field: Line = isFocused ? editLine(typed, Math.max(3, cells - 4)) : [{ text: typed.text }];
  const isRight = typed.text === expected;
  return [
    ...wrapLine(
      [
        { text: `${confirm.label}: `, tone: "dim" },
        { text: expected, tone: "strong" },
      ],
      cells,
    ),
    [{ text: isFocused ? "> [" : "  [" }, ...field, { text: "]" }],
    ...wrapLine(
      [
        isRight ? button("Enter") : { text: ` Enter  ${confirm.button} `, tone: "dim" },
        { text: "      " },
        { text: "Esc  cancel", tone: "dim" },
      ],
      cells,
    ),
  ];
}
