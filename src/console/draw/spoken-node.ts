/** The tree that a screen reader is told. Roles and states are those that Ink puts into words. */

import { escapeControls } from "../../base/index.ts";

export interface SpokenNode {
  readonly role?: "button" | "checkbox" | "list" | "listitem" | "radio" | "radiogroup" | "table" | "textbox";
  /** Said before the children. */
  readonly text: string;
  readonly state?: {
    readonly busy?: boolean;
    readonly checked?: boolean;
    readonly disabled?: boolean;
    readonly multiline?: boolean;
    readonly required?: boolean;
    readonly selected?: boolean;
  };
  readonly children?: readonly SpokenNode[];
}

export type Spoken = readonly SpokenNode[];

export const said = (text: string): SpokenNode => ({ text });

const DRAWING = /[─│┌┐└┘├┤┬┴┼▁-█░]+/g;

/** Words alone: no lines of a drawing, no controls, and one blank where there were many. */
export function plain(text: string): string {
  return escapeControls(text)
    .replace(DRAWING, (found) => (found.includes("│") ? "," : " "))
    .replace(/\s+/g, " ")
    .replace(/ ,/g, ",")
    .trim();
}
