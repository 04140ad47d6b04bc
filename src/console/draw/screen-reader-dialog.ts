/** Dialog for a screen reader: its text, its fields with kind and value, and how to confirm it. */

import type { Field } from "../model/dialog.ts";
import type { DialogState, State } from "../model/state.ts";
import { textOfLine } from "../model/text.ts";
import { contextOf } from "../store/current-view.ts";
import { progressText } from "../store/progress-text.ts";
import { whyNotConfirmed } from "../store/step-dialog.ts";
import { requestsOf, unseen } from "./dialog-lines.ts";
import { REHEARSAL_LABEL, rehearsalLines } from "./rehearsal-lines.ts";
import { plain, type ReaderNode, type ReaderTree, textNode } from "./screen-reader-node.ts";

export function renderDialog(state: State, open: DialogState): ReaderTree {
  const { dialog, stage } = open;
  const title = textNode(`dialog: ${plain(dialog.title)}${dialog.isDangerous ? ", dangerous" : ""}`);
  switch (stage.kind) {
    case "asking":
      return [title, ...renderQuestion(state, open)];
    case "failed":
      return [title, textNode(`failed: ${plain(stage.message)}`), ...renderQuestion(state, open)];
    case "running":
      return [
        title,
        { ...textNode(plain(stage.message)), state: { busy: true } },
        textNode(plain(progressText(state, stage.since))),
      ];
    case "done":
      return [
        title,
        textNode(plain(stage.message)),
        textNode(stage.secret),
        textNode("shown only once: copy it now with c"),
      ];
    default:
      return stage satisfies never;
  }
}

function renderQuestion(state: State, open: DialogState): ReaderTree {
  const { dialog, values, focus, typed, rehearsal } = open;
  const context = contextOf(state);
  const { confirm } = dialog;
  const reason = whyNotConfirmed(state);
  const isTyped = confirm.kind === "typed";
  const isReady = reason === undefined && (!isTyped || typed.text === confirm.expected(values));
  const rehearsed = rehearsal === undefined ? [] : rehearsalLines(rehearsal);
  return [
    ...rehearsed.map((content) => textNode(plain(`${REHEARSAL_LABEL}: ${textOfLine(content)}`))),
    ...dialog.lines(values, context).map(([label, content]) => textNode(plain(`${label}: ${textOfLine(content)}`))),
    ...dialog.fields.map((field, at) => renderField(field, values[field.id] ?? "", open, focus === at)),
    ...(open.attachment?.lines ?? []).map((content) => textNode(plain(textOfLine(content)))),
    ...requestsOf(dialog.task(values, context)).map((request) => textNode(`request: ${request}`)),
    ...(reason === undefined ? [] : [textNode(`cannot be confirmed: ${plain(reason)}`)]),
    ...(isTyped
      ? [
          {
            role: "textbox" as const,
            text: plain(`${confirm.label}, type ${confirm.expected(values)}: ${typed.text}`),
            state: { required: true, selected: focus === dialog.fields.length },
          },
        ]
      : []),
    {
      role: "button",
      text: `${isTyped ? "Enter" : focus === -1 ? "y" : "Enter, then y"} ${confirm.button}`,
      state: { disabled: !isReady },
    },
    { role: "button", text: "Esc cancel" },
  ];
}

function renderField(field: Field, value: string, { edit }: DialogState, isFocused: boolean): ReaderNode {
  switch (field.kind) {
    case "text":
      return {
        role: "textbox",
        text: plain(`${field.label}: ${field.isUnseen === true ? unseen(value) : isFocused ? edit.text : value}`),
        state: { required: field.isRequired === true, selected: isFocused },
      };
    case "choice":
      return {
        role: "radiogroup",
        text: field.label,
        state: { selected: isFocused },
        children: field.choices.map((choice) => ({
          role: "radio",
          text: plain(choice),
          state: { checked: choice === value },
        })),
      };
    case "boxes": {
      const ticked = new Set(value.split(","));
      return {
        role: "list",
        text: field.label,
        state: { selected: isFocused },
        children: field.choices.map((choice) => ({
          role: "checkbox",
          text: plain(choice),
          state: { checked: ticked.has(choice) },
        })),
      };
    }
    default:
      return field satisfies never;
  }
}
