/** A long text as overlapping windows of tokens, none cut off. Source: guardrails reference, 3.1. */

/** Token indices, end exclusive. */
export interface TokenWindow {
  readonly from: number;
  readonly to: number;
}

/**
 * `payload`: most tokens of the text in one window, above `stride`, which is how many of them two windows share. The last
 * window may be shorter. None of a text without tokens.
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
