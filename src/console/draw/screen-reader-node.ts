/** Tree for a screen reader. Roles and states are those that Ink expresses in words. */

import { escapeControls } from "../../base/index.ts";

export interface ReaderNode {
  readonly role?: "button" | "checkbox" | "list" | "listitem" | "radio" | "radiogroup" | "table" | "textbox";
  /** Text that is spoken before the children. */
  readonly text: string;
  readonly state?: {
    readonly busy?: boolean;
    readonly checked?: boolean;
    readonly disabled?: boolean;
    readonly multiline?: boolean;
    readonly required?: boolean;
    readonly selected?: boolean;
  };
  readonly children?: readonly ReaderNode[];
}

export type ReaderTree = readonly ReaderNode[];

export const textNode = (text: string): ReaderNode => ({ text });

const DRAWING = /[─│┌┐└┘├┤┬┴┼▁-█░]+/g;

/** Returns the text as plain words: without line-drawing or control characters, and with single blanks. */
export function plain(text: string): string {
  return escapeControls(text)
    .replace(DRAWING, (found) => (found.includes("│") ? "," : " "))
    .replace(/\s+/g, " ")
    .replace(/ ,/g, ",")
    .trim();
}
