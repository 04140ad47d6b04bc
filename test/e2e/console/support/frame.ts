/**
 * Whether what is on the screen is a frame of the console and a whole one. Cells are looked at, not text, since wide
 * characters take two of them.
 */
import type { TestTerminal } from "../../../console/support/terminal.ts";

/** Identity and health above the frame; hints, flash and the line that stays empty below it. */
const ABOVE = 2;
const BELOW = 3;

const VERTICAL = new Set("│├┤┼");

/** What is wrong with the frame; nothing, if it is whole. */
export function faultsOf(terminal: TestTerminal): readonly string[] {
  const cells = terminal.cells().map((row) => row.map(({ char }) => char));
  const at = (row: number, column: number): string => cells[row]?.[column] ?? "";
  const [last, right] = [terminal.rows - 1, terminal.columns - 1];
  const [top, bottom] = [ABOVE, terminal.rows - BELOW - 1];
  const faults: string[] = [];
  const say = (row: number, column: number, what: string): void => void faults.push(`${row},${column}: ${what}`);

  if (terminal.row(last) !== "") say(last, 0, "something is in the line that stays empty");
  for (const [row, column, corner] of [
    [top, 0, "┌"],
    [top, right, "┐"],
    [bottom, 0, "└"],
    [bottom, right, "┘"],
  ] as const) {
    if (at(row, column) !== corner) say(row, column, `${at(row, column)} in place of the corner ${corner}`);
  }
  for (let row = top + 1; row < bottom; row += 1) {
    for (const column of [0, right]) {
      if (!VERTICAL.has(at(row, column))) say(row, column, `the border is broken by "${at(row, column)}"`);
    }
  }
  for (const row of [...Array.from({ length: ABOVE }, (_, it) => it), last - 2, last - 1]) {
    for (const column of [0, right]) if (VERTICAL.has(at(row, column))) say(row, column, "a border outside the frame");
  }
  for (const [row, line] of cells.entries()) {
    for (const [column, char] of line.entries()) if (char === "┌") faults.push(...faultsOfBox(at, row, column, right));
  }
  return faults;
}

/** The box whose upper left corner this is. */
function faultsOfBox(
  at: (row: number, column: number) => string,
  row: number,
  left: number,
  last: number,
): readonly string[] {
  let right = left + 1;
  while (right <= last && at(row, right) !== "┐") right += 1;
  if (right > last) return [`${row},${left}: a box without a right corner`];
  let bottom = row + 1;
  while (VERTICAL.has(at(bottom, left))) {
    if (!VERTICAL.has(at(bottom, right))) return [`${bottom},${right}: the right side is broken`];
    bottom += 1;
  }
  if (at(bottom, left) !== "└") return [`${bottom},${left}: the left side is broken by "${at(bottom, left)}"`];
  return at(bottom, right) === "┘" ? [] : [`${bottom},${right}: no lower right corner`];
}

/** Words of the frame's body, one blank between any two, whatever lines they are on; of the lowest lines too. */
export function wordsOf(terminal: TestTerminal): string {
  return terminal
    .screen()
    .replace(/[─│┌┐└┘├┤┬┴┼]/g, " ")
    .replace(/\s+/g, " ")
    .trim();
}
