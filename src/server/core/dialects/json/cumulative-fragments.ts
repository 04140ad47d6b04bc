/**
 * Recognizes fragments of a JSON object that repeat everything before them. Some providers send all arguments of a tool call so
 * far in each fragment (DeepSeek at Qianfan).
 *
 * The first such fragment shows where an object cannot begin: a provider that sends pieces would have broken its arguments
 * there. A client that joins pieces gets the same from what is new in each fragment.
 */

/** Maximum number of UTF-16 units that are kept and compared. Fragments that are first repeated after more are not recognized. */
const MAX_START = 4_096;

/** Matches text after which an object may be the beginning of a name, `{"{":1}`. */
const BEFORE_NAME = /^\s*\{\s*"$/;
const AFTER_NAME = /^\s*(?::|$)/;

export class CumulativeFragments {
  /** Beginning of the text; `undefined` once it is too long. */
  #start: string | undefined = "";
  #length = 0;
  #isCumulative = false;

  /** Returns the part of the next fragment that is new. `mayBeginObject`: whether an object may begin after the text so far. */
  newPart(fragment: string, mayBeginObject: boolean): string {
    const more = this.#repeatsAll(fragment, mayBeginObject) ? fragment.slice(this.#length) : fragment;
    this.#length += more.length;
    if (this.#start !== undefined && !this.#isCumulative) {
      this.#start = this.#length <= MAX_START ? this.#start + more : undefined;
    }
    return more;
  }

  #repeatsAll(fragment: string, mayBeginObject: boolean): boolean {
    const start = this.#start;
    if (start === undefined || start.trim() === "" || fragment.length < this.#length) return false;
    if (!fragment.startsWith(start)) return false;
    if (this.#isCumulative) return true;
    if (mayBeginObject || (BEFORE_NAME.test(start) && AFTER_NAME.test(fragment.slice(start.length)))) return false;
    this.#isCumulative = true;
    return true;
  }
}
