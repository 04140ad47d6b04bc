/** Computes the part of a text that a verdict over windows covers. */

import type { Tokens } from "../text/text-tokens.ts";
import type { TokenWindow } from "../text/token-windows.ts";

/** Returns the span from the first window to the last, including text before the first token and after the last one. */
export function hull(
  { starts, ends, textLength }: Tokens,
  windows: readonly TokenWindow[],
  first: number,
  last: number,
): { readonly start: number; readonly end: number } {
  return {
    start: first === 0 ? 0 : (starts[(windows[first] as TokenWindow).from] as number),
    end: last === windows.length - 1 ? textLength : (ends[(windows[last] as TokenWindow).to - 1] as number),
  };
}
