/**
 * Terminal sequences of non-character keys as chords. Sources: XTerm Control Sequences, "PC-Style Function Keys"; the consoles
 * of Linux (`CSI 1~`, `CSI 4~`, `CSI [ E`) and rxvt (`CSI 7~`, `CSI 8~`, `CSI a`, `SS3 a`).
 *
 * Modified keys that are not in the key table are reported too (`ctrl-home`, `alt-left`), with modifiers in the order ctrl,
 * alt, shift; an unused chord does nothing.
 */

import type { Chord } from "../model/key-event.ts";

/** Keys by the final byte of `CSI` or `SS3`. */
const LETTERS: ReadonlyMap<string, string> = new Map([
  ["A", "up"],
  ["B", "down"],
  ["C", "right"],
  ["D", "left"],
  ["H", "home"],
  ["F", "end"],
  ["P", "f1"],
  ["Q", "f2"],
  ["R", "f3"],
  ["S", "f4"],
]);

/** Keys by the number before `~`. */
const NUMBERS: ReadonlyMap<number, string> = new Map([
  [1, "home"],
  [3, "delete"],
  [4, "end"],
  [5, "pageup"],
  [6, "pagedown"],
  [7, "home"],
  [8, "end"],
  [11, "f1"],
  [12, "f2"],
  [13, "f3"],
  [14, "f4"],
  [15, "f5"],
  [17, "f6"],
  [18, "f7"],
  [19, "f8"],
  [20, "f9"],
  [21, "f10"],
  [23, "f11"],
  [24, "f12"],
]);

const RXVT: ReadonlyMap<string, string> = new Map([
  ["a", "up"],
  ["b", "down"],
  ["c", "right"],
  ["d", "left"],
]);

const SHIFT = 1;
const ALT = 2;
const CTRL = 4;

/**
 * Returns the chord of a `CSI` sequence; `undefined` for an unknown key. `parameters` is the text between `CSI` and its final
 * byte.
 */
export function chordOfCsi(parameters: string, final: string): Chord | undefined {
  if (final === "Z") return "shift-tab";
  // A cursor position report looks like F3 with a modifier; F3 itself is sent with SS3.
  if (final === "R") return undefined;
  const [, number = "", modifier = ""] = /^(\d*)(?:;(\d+))?$/.exec(parameters) ?? [];
  if (parameters !== "" && number === "") return undefined;
  const letter = LETTERS.get(final);
  if (letter !== undefined) return withModifiers(letter, modifier);
  if (final === "~") return withModifiers(NUMBERS.get(Number(number)), modifier);
  return parameters === "" ? namedKey(RXVT.get(final), SHIFT) : undefined;
}

/** Returns the chord of an `SS3` sequence, which a terminal sends in application mode; `M` is Enter on the number pad. */
export function chordOfSs3(parameters: string, final: string): Chord | undefined {
  if (parameters !== "") return chordOfCsi(parameters.includes(";") ? parameters : `1;${parameters}`, final);
  return final === "M" ? "enter" : (LETTERS.get(final) ?? namedKey(RXVT.get(final), CTRL));
}

/** Adds modifiers to a key. `modifier` is 1 plus the sum of 1 shift, 2 alt, 4 ctrl, 8 meta; empty for none. */
function withModifiers(key: string | undefined, modifier: string): Chord | undefined {
  if (modifier === "") return key;
  const bits = Number(modifier) - 1;
  return bits >= 0 && bits < 16 ? namedKey(key, bits) : undefined;
}

function namedKey(key: string | undefined, bits: number): Chord | undefined {
  if (key === undefined) return undefined;
  const ctrl = (bits & CTRL) > 0 ? "ctrl-" : "";
  // Meta is Alt on current keyboards.
  const alt = (bits & (ALT | 8)) > 0 ? "alt-" : "";
  return `${ctrl}${alt}${(bits & SHIFT) > 0 ? "shift-" : ""}${key}`;
}
