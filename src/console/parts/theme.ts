/**
 * Tones as a terminal shows them: the colours of a theme, or none at all. A line becomes text
 * with SGR sequences (ECMA-48, 8.3.117), each span opened and closed by itself. Source: operator console reference, B9.
 *
 * The sequences are written here and not by Ink's colour library, which does not read NO_COLOR and looks at the process's
 * own standard output instead of the one it was given.
 */

import type { Attribute, Colour, Paint, ThemeSpec } from "../model/settings.ts";
import type { Line, Tone } from "../model/text.ts";
import { DARK, MONO as MONO_SPEC } from "../settings/themes.ts";

interface Style {
  readonly open: string;
  readonly close: string;
}

export interface Theme {
  readonly tones: Readonly<Record<Tone, Style>>;
  /** Of the row under the cursor. */
  readonly selected: Style;
}

const PLAIN: Style = { open: "", close: "" };
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
  if (foreground !== undefined) on.push(colourOf(foreground, 30));
  if (foreground !== undefined) off.push("39");
  if (background !== undefined) on.push(colourOf(background, 40));
  if (background !== undefined) off.push("49");
  if (on.length === 0) return PLAIN;
  return { open: `\x1b[${on.join(";")}m`, close: `\x1b[${off.join(";")}m` };
}

/** `base`: of the eight, 30 in front and 40 behind; the bright ones 60 above; others by their number or by their parts. */
function colourOf(colour: Colour, base: 30 | 40): string {
  if (typeof colour !== "number") return `${base + 8};2;${colour.join(";")}`;
  if (colour < 8) return String(base + colour);
  return colour < 16 ? String(base + 60 + colour - 8) : `${base + 8};5;${colour}`;
}

/** Of a terminal with a dark background. */
export const COLOURS: Theme = themeOf(DARK);
export const MONO: Theme = themeOf(MONO_SPEC);

export function paint(line: Line, { tones, selected }: Theme): string {
  let painted = "";
  for (const { text, tone = "plain", isInverse = false } of line) {
    if (text === "") continue;
    const style = tones[tone];
    painted += isInverse
      ? selected.open + style.open + text + style.close + selected.close
      : style.open + text + style.close;
  }
  return painted;
}
