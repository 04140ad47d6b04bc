import type { Chord } from "../model/key-event.ts";
import type { State, Step } from "../model/state.ts";

/** Returns a step without effects. */
export const stateOnly = (state: State): Step => ({ state, effects: [] });

export const isOneOf = (chord: Chord, { chords }: { readonly chords: readonly Chord[] }): boolean =>
  chords.includes(chord);
