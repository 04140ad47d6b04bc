/** Spelling of keys in the hint bar and the help, from the key table. */

import type { Chord } from "../model/key-event.ts";

const NAMES: ReadonlyMap<string, string> = new Map([
  ["esc", "Esc"],
  ["enter", "Enter"],
  ["tab", "Tab"],
  ["space", "Space"],
  ["pageup", "PgUp"],
  ["pagedown", "PgDn"],
  ["home", "Home"],
  ["end", "End"],
  ["shift-tab", "Shift-Tab"],
  ["up", "Up"],
  ["down", "Down"],
  ["left", "Left"],
  ["right", "Right"],
]);

/** Formats a chord: `ctrl-r` as `Ctrl-R`, `s` unchanged. */
export function chordText(chord: Chord): string {
  const named = NAMES.get(chord);
  if (named !== undefined) return named;
  if (chord.length === 1) return chord;
  if (/^f\d+$/.test(chord)) return chord.toUpperCase();
  const parts = chord.split("-");
  const last = parts.pop() ?? "";
  const modifiers = parts.map((part) => `${part.slice(0, 1).toUpperCase()}${part.slice(1)}-`).join("");
  return modifiers + (last.length === 1 ? last.toUpperCase() : (NAMES.get(last) ?? last));
}

/** Formats several chords: `1-9`, `up k`. */
export function chordsText(chords: readonly Chord[]): string {
  const [first = "", ...rest] = chords;
  const isRun = chords.length > 3 && /^f?\d$/.test(first);
  return isRun ? `${chordText(first)}-${chordText(rest.at(-1) ?? first)}` : chords.map(chordText).join(" ");
}
