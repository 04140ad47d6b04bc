/** Splits a long text into overlapping windows of tokens, without truncation. Source: guardrails reference, 3.1. */

/** Token indices; the end is exclusive. */
export interface TokenWindow {
  readonly from: number;
  readonly to: number;
}

/**
 * `payload` is the maximum number of the text's tokens in one window, above `stride`, the number of tokens that two windows
 * share. The last window may be shorter. Returns none for a text without tokens.
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
