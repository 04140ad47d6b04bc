/**
 * Tones in the terminal: the colors of a theme, or none. A line becomes text with SGR sequences (ECMA-48, 8.3.117), each span
 * opened and closed separately. Source: operator console reference, B9.
 *
 * The sequences are written here and not by Ink's color library, which ignores NO_COLOR and examines the process's standard
 * output instead of the given stream.
 */

import { leadingMarks } from "../../base/index.ts";
import type { Attribute, Color, Paint, ThemeSpec } from "../model/settings.ts";
import type { Line, Tone } from "../model/text.ts";
import { DARK, MONO as MONO_SPEC } from "../settings/themes.ts";
import type { Run } from "./row-difference.ts";

type Style = Omit<Run, "text">;

export interface Theme {
  readonly tones: Readonly<Record<Tone, Style>>;
  /** Style of the row under the cursor. */
  readonly selected: Style;
}

const PLAIN: Style = { open: "", close: "", marksBlanks: false };
/** SGR parameters that turn an attribute on and off. */
const ATTRIBUTES: Readonly<Record<Attribute, readonly [on: number, off: number]>> = {
  bold: [1, 22],
  dim: [2, 22],
  italic: [3, 23],
  underline: [4, 24],
  reverse: [7, 27],
};

export function themeOf({ selected, ...tones }: ThemeSpec): Theme {
  const styles = Object.fromEntries(Object.entries(tones).map(([tone, paint]) => [tone, styleOf(paint)]));
  return { tones: { plain: PLAIN, ...styles } as Theme["tones"], selected: styleOf(selected) };
}

function styleOf({ foreground, background, attributes }: Paint): Style {
  const on = attributes.map((one) => String(ATTRIBUTES[one][0]));
  const off = attributes.map((one) => String(ATTRIBUTES[one][1]));
  if (foreground !== undefined) on.push(colorOf(foreground, 30));
  if (foreground !== undefined) off.push("39");
  if (background !== undefined) on.push(colorOf(background, 40));
  if (background !== undefined) off.push("49");
  if (on.length === 0) return PLAIN;
  const marksBlanks = background !== undefined || attributes.some((one) => one === "reverse" || one === "underline");
  return { open: `\x1b[${on.join(";")}m`, close: `\x1b[${off.join(";")}m`, marksBlanks };
}

/**
 * Returns the SGR parameters of a color. `base` is 30 for the foreground or 40 for the background of the eight basic colors;
 * bright ones are 60 higher; others are given by their number or components.
 */
function colorOf(colour: Color, base: 30 | 40): string {
  if (typeof colour !== "number") return `${base + 8};2;${colour.join(";")}`;
  if (colour < 8) return String(base + colour);
  return colour < 16 ? String(base + 60 + colour - 8) : `${base + 8};5;${colour}`;
}

/** Theme for a dark background. */
export const DEFAULT_THEME: Theme = themeOf(DARK);
export const MONO: Theme = themeOf(MONO_SPEC);

/**
 * Returns the spans with the sequences of their styles, without empty ones. Marks at the start of a span are added to the span
 * before it: after a sequence, xterm.js (the terminal of VS Code) draws them in a cell of their own, and the row gets too long.
 */
export function runsOf(line: Line, { tones, selected }: Theme): readonly Run[] {
  const runs: Run[] = [];
  for (const { text, tone = "plain", isInverse = false } of line) {
    const marks = leadingMarks(text);
    const last = runs.pop();
    if (last !== undefined) runs.push(marks === "" ? last : { ...last, text: last.text + marks });
    if (text.length === marks.length) continue;
    runs.push({ text: text.slice(marks.length), ...styleOfSpan(tones[tone], isInverse ? selected : undefined) });
  }
  return runs;
}

function styleOfSpan(style: Style, selected: Style | undefined): Style {
  if (selected === undefined) return style;
  return {
    open: selected.open + style.open,
    close: style.close + selected.close,
    marksBlanks: selected.marksBlanks || style.marksBlanks,
  };
}

export const paint = (line: Line, theme: Theme): string => paintRuns(runsOf(line, theme));

export const paintRuns = (runs: readonly Run[]): string =>
  runs.map(({ open, text, close }) => open + text + close).join("");
