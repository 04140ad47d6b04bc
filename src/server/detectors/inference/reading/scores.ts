/** Converts model outputs to scores. */

/**
 * Rounds a score to four decimals, because the other texts of a batch change scores by about 1e-5. Source: guardrails
 * reference, 3.1.
 */
export const rounded = (score: number): number => Math.round(score * 10_000) / 10_000;

export const sigmoid = (logit: number): number => 1 / (1 + Math.exp(-logit));

/** Computes the softmax of `size` logits at `at`, into `scores` from 0. */
export function softmax(logits: Float32Array, at: number, size: number, scores: Float64Array): void {
  let highest = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < size; i++) highest = Math.max(highest, logits[at + i] as number);
  let sum = 0;
  for (let i = 0; i < size; i++) {
    const power = Math.exp((logits[at + i] as number) - highest);
    scores[i] = power;
    sum += power;
  }
  for (let i = 0; i < size; i++) scores[i] = (scores[i] as number) / sum;
}

/** Returns the index of the highest score, and of several the first; NaN is never the highest. */
export function argmax(scores: Float64Array, size: number): number {
  let best = 0;
  for (let i = 1; i < size; i++) {
    if ((scores[i] as number) > (scores[best] as number) || Number.isNaN(scores[best])) best = i;
  }
  return best;
}

/** Converts IEEE 754 binary16 numbers, which some graphs return. */
export function fromHalf(bits: Uint16Array): Float32Array {
  const values = new Float32Array(bits.length);
  bits.forEach((half, at) => {
    const sign = half & 0x8000 ? -1 : 1;
    const exponent = (half >> 10) & 0x1f;
    const fraction = half & 0x3ff;
    if (exponent === 0) values[at] = sign * fraction * 2 ** -24;
    else if (exponent === 0x1f) values[at] = fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
    else values[at] = sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
  });
  return values;
}
