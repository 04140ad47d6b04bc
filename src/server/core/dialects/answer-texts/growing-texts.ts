/**
 * Tracks strings outside deltas that differ from event to event. No known client joins them, but one might. So each is
 * inspected once more together with the text shown at its path before, and a text cannot escape inspection by being split. An
 * unchanged string is a repetition, and one that begins with the previous text is a longer version of it.
 */

/** Maximum number of UTF-16 units of the previous text, and of the new one, that are inspected together. */
const MAX_JOINED = 256;
/** Maximum number of remembered paths. */
const MAX_PATHS = 256;

interface GrowingText {
  last: string;
  shown: string;
}

export class GrowingTexts {
  readonly #byPath = new Map<string, GrowingText>();

  /** Returns the text to inspect again, joined with what was shown before, or `undefined` if there is none. */
  joinWithShown(path: string, text: string): string | undefined {
    const grown = this.#byPath.get(path);
    if (grown === undefined || grown.shown === "" || text.startsWith(grown.last)) return undefined;
    return grown.shown + text.slice(0, MAX_JOINED);
  }

  /** Returns the text that an earlier event showed at the path. */
  shownAt(path: string): string {
    return this.#byPath.get(path)?.shown ?? "";
  }

  record(path: string, text: string, shown: string): void {
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
