/**
 * Cursor over valid JSON text that visits each value once, for callers that copy parts of it exactly as written. `readJson`
 * has checked that the text is valid and its depth bounded.
 */
import { decodeString, scalarEnd, skipComma, skipSpace, stringEnd } from "./json-source.ts";

export class JsonCursor {
  readonly #text: string;
  /** Offset of the next value. */
  #at: number;

  constructor(text: string) {
    this.#text = text;
    this.#at = skipSpace(text, 0);
  }

  /** First character of the next value. */
  get firstChar(): string {
    return this.#text.charAt(this.#at);
  }

  /** Moves past the next value and returns its text unchanged. */
  skip(): string {
    const start = this.#at;
    let depth = 0;
    do {
      const first = this.firstChar;
      if (first === '"') this.#at = stringEnd(this.#text, this.#at);
      else if (first === "{" || first === "[") depth += 1;
      else if (first === "}" || first === "]") depth -= 1;
      if (first === '"') continue;
      const isScalar = depth === 0 && first !== "}" && first !== "]";
      this.#at = isScalar ? scalarEnd(this.#text, this.#at) : this.#at + 1;
    } while (depth > 0);
    return this.#text.slice(start, this.#at);
  }

  /** Visits each member of the next value, an object. `read` must move past the member's value. */
  visitMembers(read: (name: string) => void): void {
    this.#visitContainer("}", () => {
      const start = this.#at;
      const end = stringEnd(this.#text, start);
      // Move past the colon.
      this.#at = skipSpace(this.#text, skipSpace(this.#text, end) + 1);
      read(decodeString(this.#text, start, end));
    });
  }

  /** Returns the results of `read` for each item of the next value, an array. `read` must move past the item. */
  mapItems<Item>(read: (index: number) => Item): readonly Item[] {
    const made: Item[] = [];
    this.#visitContainer("]", () => made.push(read(made.length)));
    return made;
  }

  #visitContainer(close: string, visit: () => void): void {
    this.#at = skipSpace(this.#text, this.#at + 1);
    while (this.firstChar !== close) {
      visit();
      this.#at = skipComma(this.#text, this.#at);
    }
    this.#at += 1;
  }
}
