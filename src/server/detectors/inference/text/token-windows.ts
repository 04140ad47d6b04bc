/** Splits a long text into overlapping windows of tokens, without truncation. Source: guardrails reference, 3.1. */

/** Window of tokens by index; the end is exclusive. */
export interface TokenWindow {
  readonly from: number;
  readonly to: number;
}

/**
 * Returns the windows; none for a text without tokens. `payload`: maximum number of the text's tokens in one window.
 * `stride`: number of tokens that two windows share, less than `payload`. The last window may be shorter.
 */
export function windowsOf(count: number, payload: number, stride: number): readonly TokenWindow[] {
  const windows: TokenWindow[] = [];
  for (let from = 0; from < count; from += payload - stride) {
    const to = Math.min(from + payload, count);
    windows.push({ from, to });
    if (to === count) break;
  }
  return windows;
}
