/**
 * JSON that is taken apart and put together again with parts of it left exactly as they were written: a tool's schema or
 * arguments keep the spelling of their numbers and the order of their keys, which parsing alone would lose (a number
 * above 2^53, `1.0`, keys that look like indexes). Source: dialects reference, 4 and 8; RFC 8259, section 6.
 */

/** JSON text in the place of a value: written out as it stands. */
export class Verbatim {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export interface JsonSource {
  /** Plain values, as `JSON.parse` gives them. */
  readonly value: unknown;
  /**
   * `part`: an object or array of `value`, by identity. A `Verbatim` of its text where parsing it and writing it again would
   * not give the same; otherwise `part` itself.
   */
  exact(part: unknown): unknown;
}
