/** Bars and sparklines of characters, with an ASCII set for other terminals. */

/** The highest level leaves an eighth of the cell empty, so that adjacent lines do not touch. */
const BLOCKS = [..."▁▂▃▄▅▆▇"];
const PLAIN = [..."_.,-~=+"];

/** Draws one cell per value, the largest value highest; null is a gap, and all zeros are the lowest level. */
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

/** Fills `fraction` of `cells`; completely only from 1 on, and empty only at 0 or less. */
export function bar(fraction: number, cells: number, isAscii: boolean): string {
  const exact = Math.round(fraction * cells);
  const filled = fraction >= 1 ? cells : fraction <= 0 ? 0 : Math.min(cells - 1, Math.max(1, exact));
  return (isAscii ? "#" : "█").repeat(filled) + (isAscii ? "." : "░").repeat(cells - filled);
}
