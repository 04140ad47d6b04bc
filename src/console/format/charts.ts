/** Bars and lines of characters, with the plain set for terminals that have no other. */

/** The highest leaves an eighth of the cell empty, so that lines below each other do not touch. */
const BLOCKS = [..."▁▂▃▄▅▆▇"];
const PLAIN = [..."_.,-~=+"];

/** One cell a value, the largest being the highest; null is a gap. All zero is the lowest. */
export function sparkline(values: readonly (number | null)[], isAscii: boolean): string {
  const levels = isAscii ? PLAIN : BLOCKS;
  const most = values.reduce<number>((max, value) => (value !== null && value > max ? value : max), 0);
  return values
    .map((value) => {
      if (value === null) return " ";
      const at = most <= 0 ? 0 : Math.round((Math.max(0, value) / most) * (levels.length - 1));
      return levels[at] ?? " ";
    })
    .join("");
}

/** `fraction` of `cells`, full only when it is 1 or more and empty only when it is 0 or less. */
export function bar(fraction: number, cells: number, isAscii: boolean): string {
  const exact = Math.round(fraction * cells);
  const filled = fraction >= 1 ? cells : fraction <= 0 ? 0 : Math.min(cells - 1, Math.max(1, exact));
  return (isAscii ? "#" : "█").repeat(filled) + (isAscii ? "." : "░").repeat(cells - filled);
}
