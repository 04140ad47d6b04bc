/** Two words that every step is written with. */

import type { Chord } from "../model/key.ts";
import type { State, Step } from "../model/state.ts";

/** A step that wants nothing done. */
export const only = (state: State): Step => ({ state, effects: [] });

export const isOneOf = (chord: Chord, { chords }: { readonly chords: readonly Chord[] }): boolean =>
  chords.includes(chord);
