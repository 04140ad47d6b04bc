/**
 * What the rewriting of one request and of its answer shares: the numbers of placeholders, by first appearance of a value
 * over segments and channels. Source: guardrails reference, 4.5.
 */

export interface Rewriting {
  /** From 1, for each type on its own; `value` is normalised. */
  readonly numberOf: (label: string, value: string) => number;
}

/** Made once for a request, and kept for its answer. It holds the values that were numbered. */
export function createRewriting(): Rewriting {
  const numbers = new Map<string, Map<string, number>>();
  return {
    numberOf: (label, value) => {
      const values = numbers.get(label) ?? new Map<string, number>();
      numbers.set(label, values);
      const number = values.get(value) ?? values.size + 1;
      values.set(value, number);
      return number;
    },
  };
}
