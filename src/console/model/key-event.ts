/**
 * Keyboard input. Chords are spelled as in the key table and the help: a printable character is itself (`s`, `X`; the space bar
 * is `space`), other keys have names, and modifiers are prefixes (`ctrl-r`, `shift-up`, `alt-b`).
 */

export const NAMED_CHORDS = [
  "enter",
  "esc",
  "tab",
  "shift-tab",
  "space",
  "backspace",
  "delete",
  "up",
  "down",
  "left",
  "right",
  "home",
  "end",
  "pageup",
  "pagedown",
  "shift-up",
  "shift-down",
  "shift-left",
  "shift-right",
  "ctrl-left",
  "ctrl-right",
  "ctrl-space",
  "alt-enter",
  "alt-backspace",
  "alt-b",
  "alt-f",
  "f1",
  "f2",
  "f3",
  "f4",
  "f5",
  "f6",
  "f7",
  "f8",
  "f9",
  "f10",
  "f11",
  "f12",
] as const;

/** Function keys for saved views; F5 is missing because it refreshes. */
export const FAVORITE_CHORDS = ["f1", "f2", "f3", "f4", "f6", "f7", "f8", "f9", "f10", "f11", "f12"] as const;

/**
 * Chord of Ctrl and a letter: `ctrl-a` to `ctrl-z` except those that terminals send for `tab` (i), `enter` (m, j) and `backspace`
 * (h).
 */
type ControlChord = `ctrl-${string}`;
/** One printable code point. */
type Character = string;
export type Chord = (typeof NAMED_CHORDS)[number] | ControlChord | Character;

export type KeyEvent =
  | { readonly kind: "key"; readonly chord: Chord }
  /** Bracketed paste: always text, never commands. At most `MAX_PASTE_LENGTH` UTF-16 units. */
  | { readonly kind: "paste"; readonly text: string };

export const MAX_PASTE_LENGTH = 65_536;

/** Returns the character that a chord types; `undefined` if it types none. */
export function characterOf(chord: Chord): string | undefined {
  if (chord === "space") return " ";
  const [first = ""] = chord;
  return first.length === chord.length ? chord : undefined;
}

/** Event of the left button or the wheel; cells are counted from 0. */
export interface MouseReport {
  readonly kind: "press" | "wheel_up" | "wheel_down";
  readonly column: number;
  readonly row: number;
}
