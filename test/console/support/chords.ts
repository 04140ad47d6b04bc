/** Returns a terminal's bytes for a chord of the model: the inverse of `decode.ts`, in xterm's spelling. */

import type { Chord } from "../../../src/console/model/key-event.ts";

const NAMED: ReadonlyMap<string, string> = new Map([
  ["enter", "\r"],
  ["esc", "\u001b"],
  ["tab", "\t"],
  ["shift-tab", "\u001b[Z"],
  ["ctrl-space", "\u0000"],
  ["space", " "],
  ["backspace", "\u007f"],
  ["f1", "\u001bOP"],
  ["f2", "\u001bOQ"],
  ["f3", "\u001bOR"],
  ["f4", "\u001bOS"],
]);

/** Final byte, and the number before it with modifiers or a tilde. */
const KEYS: ReadonlyMap<string, readonly [number: number, final: string]> = new Map([
  ["up", [1, "A"]],
  ["down", [1, "B"]],
  ["right", [1, "C"]],
  ["left", [1, "D"]],
  ["home", [1, "H"]],
  ["end", [1, "F"]],
  ["delete", [3, "~"]],
  ["pageup", [5, "~"]],
  ["pagedown", [6, "~"]],
  ["f5", [15, "~"]],
  ["f6", [17, "~"]],
  ["f7", [18, "~"]],
  ["f8", [19, "~"]],
  ["f9", [20, "~"]],
  ["f10", [21, "~"]],
  ["f11", [23, "~"]],
  ["f12", [24, "~"]],
]);

export function bytesOfChord(chord: Chord): string {
  const fixed = NAMED.get(chord);
  if (fixed !== undefined) return fixed;
  if ([...chord].length === 1) return chord;
  const [, modifiers = "", key = ""] = /^((?:ctrl-|alt-|shift-)*)(.+)$/.exec(chord) ?? [];
  const bits =
    (modifiers.includes("shift-") ? 1 : 0) +
    (modifiers.includes("alt-") ? 2 : 0) +
    (modifiers.includes("ctrl-") ? 4 : 0);
  const [number, final] = KEYS.get(key) ?? [];
  if (number !== undefined) {
    if (bits === 0) return `\u001b[${final === "~" ? number : ""}${final}`;
    return `\u001b[${number};${bits + 1}${final}`;
  }
  if (modifiers === "alt-") return `\u001b${bytesOfChord(key)}`;
  if (modifiers === "ctrl-" && /^[a-z]$/.test(key)) return String.fromCharCode(key.charCodeAt(0) - 0x60);
  throw new RangeError(`no key of a terminal is called ${JSON.stringify(chord)}`);
}
