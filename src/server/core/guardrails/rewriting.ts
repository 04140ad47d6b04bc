/**
 * State shared by the rewriting of one request and its answer: the numbers of placeholders, by first appearance of a value in
 * segments and channels. Source: guardrails reference, 4.5.
 */

export interface Rewriting {
  /** Returns a number from 1, counted per type; `value` is normalized. */
  readonly numberOf: (label: string, value: string) => number;
}

/** Memory of an entry in addition to the characters of its value. */
const ENTRY_BYTES = 100;

/**
 * Creates the state, once per request and kept for its answer. It keeps the numbered values: `hold` is called with the bytes of
 * each and may throw.
 */
export function createRewriting(hold?: (bytes: number) => void): Rewriting {
  const numbers = new Map<string, Map<string, number>>();
  return {
    numberOf: (label, value) => {
      const values = numbers.get(label) ?? new Map<string, number>();
      numbers.set(label, values);
      const known = values.get(value);
      if (known !== undefined) return known;
      hold?.(ENTRY_BYTES + 2 * value.length);
      values.set(value, values.size + 1);
      return values.size;
    },
  };
}
