/** What of a text a verdict over windows covers. */

import type { Tokens } from "../text/tokens.ts";
import type { TokenWindow } from "../text/windows.ts";

/** From the first window to the last; what stands in front of the first token and behind the last one belongs to them. */
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
