/**
 * What comes from the keyboard. A chord is spelled as the key table and the help spell it: a single printable character
 * stands for itself (`s`, `X`, ` ` is `space`), others by name, modifiers before (`ctrl-r`, `shift-up`, `alt-b`).
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

/** Function keys under which a view can be kept; F5 reads again. */
export const FAVORITE_CHORDS = ["f1", "f2", "f3", "f4", "f6", "f7", "f8", "f9", "f10", "f11", "f12"] as const;

/** `ctrl-a` to `ctrl-z` but those that terminals send for `tab` (i), `enter` (m, j) and `backspace` (h). */
export type ControlChord = `ctrl-${string}`;
/** One code point, printable. */
export type Character = string;
export type Chord = (typeof NAMED_CHORDS)[number] | ControlChord | Character;

export type KeyEvent =
  | { readonly kind: "key"; readonly chord: Chord }
  /** A bracketed paste: text and nothing else, whatever it spells. At most `MAX_PASTE_LENGTH` UTF-16 units. */
  | { readonly kind: "paste"; readonly text: string };

export const MAX_PASTE_LENGTH = 65_536;

/** The character that a chord types; undefined for one that types none. */
export function characterOf(chord: Chord): string | undefined {
  if (chord === "space") return " ";
  const [first = ""] = chord;
  return first.length === chord.length ? chord : undefined;
}

/** Of the left button or the wheel; cells from 0. */
export interface MouseReport {
  readonly kind: "press" | "wheel_up" | "wheel_down";
  readonly column: number;
  readonly row: number;
}
