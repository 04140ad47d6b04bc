/** Simulated hands on the keyboard of a console: counts keys from the first one to the goal. */
import type { Chord } from "../../../../src/console/model/key-event.ts";
import { eventually } from "../../support/wait.ts";
import type { SeenConsole } from "../support/console-gateway.ts";

export interface Hand {
  /** Presses named keys or hot keys, one each. */
  press(...chords: readonly Chord[]): Promise<void>;
  /** Types text; each character is a key. */
  type(text: string): void;
  /** Pastes any text as one key. */
  paste(text: string): void;
  /** Goes to a view by typing after `:` as much as is unambiguous; each character and Enter is a key. */
  go(text: string): Promise<void>;
  sees(expected: string | RegExp): Promise<void>;
  /** Presses one key repeatedly until its precondition holds. */
  insist(chord: Chord, on: RegExp): Promise<RegExpExecArray>;
  readonly keys: number;
  readonly seconds: number;
}

/** Minimum time between two presses of the same key by `insist`. */
const BETWEEN_PRESSES_MS = 3_000;

export function handOn(console: SeenConsole): Hand {
  const begunAt = performance.now();
  let keys = 0;
  const hand: Hand = {
    async press(...chords) {
      keys += chords.length;
      await console.press(...chords);
    },
    type(text) {
      keys += [...text].length;
      console.type(text);
    },
    paste(text) {
      keys += 1;
      console.paste(text);
    },
    async go(input) {
      await hand.press(":");
      await console.settled();
      hand.type(input);
      await hand.press("enter");
    },
    sees: (expected) => console.until(expected),
    async insist(chord, on) {
      keys += 1;
      let pressedAt = Number.NEGATIVE_INFINITY;
      return await eventually(String(on), async () => {
        // The last press can take effect late; another would be typed into the dialog that it opened.
        const late = on.exec(console.screen());
        if (late !== null) return late;
        if (performance.now() - pressedAt < BETWEEN_PRESSES_MS) return undefined;
        pressedAt = performance.now();
        await console.press(chord);
        await console.settled();
        return on.exec(console.screen()) ?? undefined;
      });
    },
    get keys() {
      return keys;
    },
    get seconds() {
      return (performance.now() - begunAt) / 1_000;
    },
  };
  return hand;
}
