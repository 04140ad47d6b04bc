/** Reassigned keys: moves an action from one key to another. No key may have two meanings. */

import { closestName } from "../../base/index.ts";
import { CHARTS, COMMON, MOVING, VERBS } from "../model/key-bindings.ts";
import { type Chord, characterOf, NAMED_CHORDS } from "../model/key-event.ts";
import type { KeyMap } from "../model/settings.ts";
import type { Node, Reader } from "./settings-faults.ts";

/** Actions that can be reassigned, with their standard keys. Digits, Esc, Ctrl-C and Ctrl-Z cannot be changed. */
const ACTIONS: ReadonlyMap<string, readonly Chord[]> = (() => {
  const { view: _, back: __, suspend_process: ___, favorite: ____, ...common } = COMMON;
  return new Map<string, readonly Chord[]>([
    ...Object.entries({ ...MOVING, ...common }).map(([id, { chords }]) => [id, chords] as const),
    ...Object.entries(VERBS).map(([id, { chord }]) => [id, [chord]] as const),
  ]);
})();

const KEPT: ReadonlySet<Chord> = new Set(["esc", "ctrl-c", "ctrl-z", ...COMMON.view.chords, ...COMMON.favorite.chords]);
/** Chords that terminals do not distinguish from other keys. */
const INDISTINCT: ReadonlySet<string> = new Set(["ctrl-i", "ctrl-m", "ctrl-j", "ctrl-h"]);
const CANONICAL: ReadonlySet<Chord> = new Set([
  ...[...ACTIONS.values()].flat(),
  ...Object.values(CHARTS).flatMap(({ chords }) => chords as readonly Chord[]),
]);

/** Parses the name of a key. Returns `undefined` if the text is not a key. */
function chordIn(text: string): Chord | undefined {
  if (characterOf(text) !== undefined && [...text].length === 1) return text === " " ? "space" : text;
  const lower = text.toLowerCase();
  if (NAMED_CHORDS.some((chord) => chord === lower)) return lower;
  if (/^ctrl-[a-z]$/.test(lower) && !INDISTINCT.has(lower)) return lower;
  return /^alt-[a-z]$/.test(lower) ||
    /^(ctrl-|alt-|shift-)+(up|down|left|right|home|end|pageup|pagedown|delete)$/.test(lower)
    ? lower
    : undefined;
}

const SPELLING = "a key is one character, or as in ctrl-x, alt-x, f5, pageup, shift-left";

/** Returns the named chord if it can be assigned. */
export function freeChord(node: Node, text: string, reader: Reader): Chord | undefined {
  const chord = chordIn(text);
  if (chord === undefined) reader.fault(node, `'${text}' is not a key`, SPELLING);
  else if (KEPT.has(chord)) reader.fault(node, `${chord} cannot be reassigned`, "choose another key");
  else return chord;
  return undefined;
}

export function keysIn(node: Node, reader: Reader): KeyMap {
  const ownOf = new Map<Chord, Chord>();
  const shown = new Map<Chord, Chord>();
  const freed = new Set<Chord>();
  const set: { readonly chord: Chord; readonly at: Node; readonly id: string }[] = [];
  for (const [id, value, at] of reader.entries(node, "keys")) {
    const own = ACTIONS.get(id);
    const [first] = own ?? [];
    if (own === undefined || first === undefined) {
      const meant = closestName(id, [...ACTIONS.keys()]);
      const remedy =
        meant === undefined ? `the actions are ${[...ACTIONS.keys()].join(", ")}` : `did you mean '${meant}'?`;
      reader.fault(at, `there is no action '${id}'`, remedy);
      continue;
    }
    const text = reader.text(value, `the key of ${id}`);
    const chord = text === undefined ? undefined : freeChord(value, text, reader);
    if (chord === undefined) continue;
    for (const one of own) freed.add(one);
    set.push({ chord, at: value, id });
    const before = ownOf.get(chord);
    if (before !== undefined) reader.fault(value, `${chord} has two actions`, "assign another key to one of them");
    ownOf.set(chord, first);
    shown.set(first, chord);
  }
  for (const { chord, at, id } of set) {
    const taken = CANONICAL.has(chord) && !freed.has(chord);
    if (taken)
      reader.fault(
        at,
        `${chord} is already the key of another action`,
        `assign another key to that action, or to ${id}`,
      );
  }
  return { ownOf, shown, freed };
}

/** Returns whether the chord has a meaning other than a custom command. */
export const isTaken = (chord: Chord, { ownOf, freed }: KeyMap): boolean =>
  ownOf.has(chord) || (CANONICAL.has(chord) && !freed.has(chord));
