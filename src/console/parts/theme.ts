/**
 * Tones as a terminal shows them: the sixteen colours that its own theme defines, or none at all. A line becomes text
 * with SGR sequences (ECMA-48, 8.3.117), each span opened and closed by itself. Source: operator console reference, B9.
 *
 * The sequences are written here and not by Ink's colour library, which does not read NO_COLOR and looks at the process's
 * own standard output instead of the one it was given.
 */

import type { Line, Tone } from "../model/text.ts";

interface Style {
  readonly open: string;
  readonly close: string;
}

export interface Theme {
  readonly tones: Readonly<Record<Tone, Style>>;
}

const PLAIN: Style = { open: "", close: "" };
const BOLD: Style = { open: "\x1b[1m", close: "\x1b[22m" };
const DIM: Style = { open: "\x1b[2m", close: "\x1b[22m" };
const INVERSE: Style = { open: "\x1b[7m", close: "\x1b[27m" };
const foreground = (colour: number): Style => ({ open: `\x1b[${30 + colour}m`, close: "\x1b[39m" });

export const COLOURS: Theme = {
  tones: {
    plain: PLAIN,
    strong: BOLD,
    dim: DIM,
    warn: foreground(3),
    fail: foreground(1),
    off: foreground(5),
    changed: BOLD,
  },
};

/** For NO_COLOR: what is urgent is bold, and every state has its word and its mark anyway. */
export const MONO: Theme = {
  tones: { plain: PLAIN, strong: BOLD, dim: DIM, warn: BOLD, fail: BOLD, off: PLAIN, changed: BOLD },
};

export function paint(line: Line, { tones }: Theme): string {
  let painted = "";
  for (const { text, tone = "plain", isInverse = false } of line) {
    if (text === "") continue;
    const style = tones[tone];
    painted += isInverse
      ? INVERSE.open + style.open + text + style.close + INVERSE.close
      : style.open + text + style.close;
  }
  return painted;
}
