/**
 * State shared by the rewriting of one request and its answer: the numbers of placeholders, in order of first appearance of a
 * value. Source: guardrails reference, 4.5.
 */

export interface Rewriting {
  /** Returns the number of a value, counted from 1 per type. `value` is normalized. */
  readonly numberOf: (label: string, value: string) => number;
}

/** Approximate bytes of an entry besides the characters of its value. */
const ENTRY_BYTES = 100;

/**
 * Creates the state of one request and its answer. It keeps the numbered values: `reserveBytes` is called with the bytes of each and may
 * throw.
 */
export function createRewriting(reserveBytes?: (bytes: number) => void): Rewriting {
  const numbers = new Map<string, Map<string, number>>();
  return {
    numberOf: (label, value) => {
      const values = numbers.get(label) ?? new Map<string, number>();
      numbers.set(label, values);
      const known = values.get(value);
      if (known !== undefined) return known;
      reserveBytes?.(ENTRY_BYTES + 2 * value.length);
      values.set(value, values.size + 1);
      return values.size;
    },
  };
}
