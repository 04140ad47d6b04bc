/**
 * Checks whether the screen shows a complete frame of the console. It looks at cells instead of text, since wide
 * characters take two.
 */
import type { TestTerminal } from "../../../console/support/terminal.ts";

/** Identity and health are above the frame; hints, message and the line that stays empty are below it. */
const ABOVE = 2;
const BELOW = 3;

const VERTICAL = new Set("│├┤┼");

/** Returns the defects of the frame; none if it is complete. */
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

/** Checks the box with this upper left corner. */
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

/** Words of the frame's body and of the lowest lines, separated by single blanks across lines. */
export function wordsOf(terminal: TestTerminal): string {
  return terminal
    .screen()
    .replace(/[─│┌┐└┘├┤┬┴┼]/g, " ")
    .replace(/\s+/g, " ")
    .trim();
}
