/**
 * Reports of the mouse (XTerm Control Sequences, "Mouse Tracking": modes 1000 and 1006). With Shift held a terminal keeps
 * them to itself, and text is selected as without us.
 */

import type { MouseReport } from "../model/key.ts";

export type { MouseReport } from "../model/key.ts";

export const MOUSE_ON = "\u001b[?1000h\u001b[?1006h";
export const MOUSE_OFF = "\u001b[?1006l\u001b[?1000l";

const WHEEL_UP = 64;
const WHEEL_DOWN = 65;
/** Shift, Alt and Ctrl, which change nothing of what is meant. */
const MODIFIERS = 4 | 8 | 16;

/** Of `<button;column;row` as it stands before `M`; undefined for what the console has no use for. */
export function mouseReport(parameters: string): MouseReport | undefined {
  const [, button, column, row] = /^<(\d{1,3});(\d{1,4});(\d{1,4})$/.exec(parameters) ?? [];
  if (button === undefined) return undefined;
  const place = { column: Number(column) - 1, row: Number(row) - 1 };
  switch (Number(button) & ~MODIFIERS) {
    case 0:
      return { kind: "press", ...place };
    case WHEEL_UP:
      return { kind: "wheel_up", ...place };
    case WHEEL_DOWN:
      return { kind: "wheel_down", ...place };
    default:
      return undefined;
  }
}
