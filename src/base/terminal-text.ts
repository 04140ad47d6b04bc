/**
 * Text for terminals: without control characters, and measured in cells.
 *
 * Widths follow Unicode Standard Annex 11 (wide and fullwidth are two cells) with emoji as terminals draw them;
 * ambiguous characters are one cell wide. A terminal may treat sequences of joined emoji differently, which shifts a
 * column by a cell.
 */

/**
 * Control characters (including C1, line and paragraph separators), characters that reverse the direction of text, and
 * characters without width, which could make two names look the same. Joiners stay where a script or an emoji needs
 * them.
 */
const UNSAFE =
  /[\x00-\x1f\x7f-\x9f\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e007f}\p{Surrogate}]|\u034f|\u17b4|\u17b5|(?<!\p{M}|\p{Extended_Pictographic}|\p{Emoji_Modifier}|\p{Script=Arabic}|\p{Script=Syriac}|\p{Script=Mongolian})[\u200c\u200d]/gu;
const SHORT_ESCAPES: ReadonlyMap<string, string> = new Map([
  ["\n", "\\n"],
  ["\r", "\\r"],
  ["\t", "\\t"],
]);

/** Escapes a text so that it is one line and cannot move the cursor or change colors. */
export function escapeControls(text: string): string {
  return text.replace(UNSAFE, escaped);
}

/** Escapes a text like `escapeControls`, but keeps line breaks and tabs. */
export function escapeControlsOfLines(text: string): string {
  return text.replace(UNSAFE, (found) => (found === "\n" || found === "\t" ? found : escaped(found)));
}

function escaped(found: string): string {
  const point = (found.codePointAt(0) ?? 0).toString(16);
  return SHORT_ESCAPES.get(found) ?? (point.length > 4 ? `\\u{${point}}` : `\\u${point.padStart(4, "0")}`);
}

const PLAIN = /^[\x20-\x7e]*$/;
const ZERO_WIDTH = /^[\p{Mn}\p{Me}\p{Cf}\u1160-\u11ff]$/u;
/**
 * Characters of width one: soft hyphens, which terminals draw, and regional indicators, of which a pair takes two
 * cells.
 */
const NARROW = /^[\u00ad\u{1f1e6}-\u{1f1ff}]$/u;
const WIDE =
  /^[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{18cff}\u{1b000}-\u{1b2ff}\u{20000}-\u{3fffd}\p{Emoji_Presentation}]$/u;

/** Returns the width in cells of a text without control characters. */
export function cellsOf(text: string): number {
  if (PLAIN.test(text)) return text.length;
  let cells = 0;
  for (const character of text) cells += cellsOfCharacter(character);
  return cells;
}

/** Returns the characters without width at the start of a text, such as combining marks. */
export function leadingMarks(text: string): string {
  if (text.charCodeAt(0) < FIRST_MARK) return "";
  let length = 0;
  for (const character of text) {
    if (cellsOfCharacter(character) > 0) break;
    length += character.length;
  }
  return text.slice(0, length);
}

/** First character without width except the soft hyphen, which terminals draw. */
const FIRST_MARK = 0x300;

function cellsOfCharacter(character: string): 0 | 1 | 2 {
  if (PLAIN.test(character) || NARROW.test(character)) return 1;
  if (ZERO_WIDTH.test(character)) return 0;
  return WIDE.test(character) ? 2 : 1;
}

/** Cuts a text to at most `cells` (at least one) and marks the cut with `…`. */
export function cutToCells(text: string, cells: number): string {
  if (cellsOf(text) <= cells) return text;
  let kept = "";
  let left = cells - 1;
  for (const character of text) {
    left -= cellsOfCharacter(character);
    if (left < 0) break;
    kept += character;
  }
  return `${kept}…`;
}
