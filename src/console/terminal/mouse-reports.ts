/**
 * Mouse reports (XTerm Control Sequences, "Mouse Tracking": modes 1000 and 1006). While Shift is held, the terminal handles the
 * mouse itself, and text can be selected as usual.
 */

import type { MouseReport } from "../model/key-event.ts";

export type { MouseReport } from "../model/key-event.ts";

export const MOUSE_ON = "\u001b[?1000h\u001b[?1006h";
export const MOUSE_OFF = "\u001b[?1006l\u001b[?1000l";

const WHEEL_UP = 64;
const WHEEL_DOWN = 65;
/** Shift, Alt and Ctrl, which are ignored. */
const MODIFIERS = 4 | 8 | 16;

/** Parses `<button;column;row` before `M`; returns `undefined` for unused reports. */
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
