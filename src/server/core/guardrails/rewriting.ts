/**
 * What the rewriting of one request and of its answer shares: the numbers of placeholders, by first appearance of a value
 * over segments and channels. Source: guardrails reference, 4.5.
 */

export interface Rewriting {
  /** From 1, for each type on its own; `value` is normalised. */
  readonly numberOf: (label: string, value: string) => number;
}

/** What a value takes beside its characters. */
const ENTRY_BYTES = 100;

/**
 * Made once for a request, and kept for its answer. It holds the values that were numbered: `hold` is told of each, in
 * bytes, and may throw.
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
