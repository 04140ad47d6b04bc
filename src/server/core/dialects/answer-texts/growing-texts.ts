/**
 * Strings outside deltas that differ from event to event. No client that we know joins them, and one may: each is read once
 * more behind what was shown at its path before, so that no text passes by being cut. What stays the same is a repetition,
 * and what begins with what was before is a longer version of it.
 */

/** UTF-16 units of the text before, and of the new one, that are read together. */
const MAX_JOINED = 256;
/** Paths that are remembered. */
const MAX_PATHS = 256;

interface Grown {
  last: string;
  shown: string;
}

export class GrowingTexts {
  readonly #byPath = new Map<string, Grown>();

  /** Returns the text to inspect again, joined with what was shown before, or `undefined` if there is none. */
  joined(path: string, text: string): string | undefined {
    const grown = this.#byPath.get(path);
    if (grown === undefined || grown.shown === "" || text.startsWith(grown.last)) return undefined;
    return grown.shown + text.slice(0, MAX_JOINED);
  }

  /** Returns the text that was shown at the path before. */
  shownAt(path: string): string {
    return this.#byPath.get(path)?.shown ?? "";
  }

  note(path: string, text: string, shown: string): void {
    const grown = this.#byPath.get(path);
    if (grown === undefined) {
      if (this.#byPath.size < MAX_PATHS) this.#byPath.set(path, { last: text, shown: shown.slice(-MAX_JOINED) });
    } else if (grown.last !== text) {
      const isLonger = text.startsWith(grown.last);
      grown.last = text;
      grown.shown = (isLonger ? shown : grown.shown + shown).slice(-MAX_JOINED);
    }
  }
}
