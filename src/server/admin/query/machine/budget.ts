/**
 * Memory limit of one statement in the worker. The worker's heap limit is not enough: if V8 runs out of heap within one large
 * allocation, the whole process ends (observed on Node.js 20 with a large JSON text). So rows and texts are counted, and a
 * statement is ended well before. Together, the limits are about half of the worker's heap.
 */

/** Error that ends a statement, for its author. */
export class StatementError extends Error {
  readonly reason: "rows" | "memory" | undefined;

  constructor(message: string, reason?: "rows" | "memory") {
    super(message);
    this.name = "StatementError";
    this.reason = reason;
  }
}

/** Maximum number of cells: values of 8 bytes in intermediate and final rows. Each row adds `ROW_CELLS`. */
const MAX_CELLS = 6_000_000;
/** Maximum length of all texts that functions made, kept or not, in UTF-16 units. */
const MAX_CHARACTERS = 32 * 1024 * 1024;
const MAX_TEXT_LENGTH = 1024 * 1024;
const ROW_CELLS = 3;
/** Cost of a group in the engine besides its values, in cells. */
const GROUP_CELLS = 16;
/** Number of UTF-16 units, beyond a short text, that count as one cell. */
const CHARACTERS_A_CELL = 8;

export interface Budget {
  /** Resets the count at the start of a statement. */
  begin(): void;
  /** Counts a row of `width` values. Throws above the limit, like all counting methods. */
  row(width: number): void;
  group(): void;
  /** Counts a text that is kept beside the rows. */
  kept(text: string): void;
  /** Counts a text before it is made. */
  text(length: number): void;
  /** Current number of cells. */
  readonly held: number;
  /** Releases all cells counted since `held` was read, except those of `rows` rows of `width` values. */
  settle(held: number, rows: number, width: number): void;
}

export function openBudget(): Budget {
  let cells = 0;
  let characters = 0;
  const hold = (more: number): void => {
    cells += more;
    if (cells > MAX_CELLS) throw tooMuch();
  };
  return {
    begin() {
      cells = 0;
      characters = 0;
    },
    row: (width) => hold(width + ROW_CELLS),
    group: () => hold(GROUP_CELLS),
    kept: (value) => hold(ROW_CELLS + value.length / CHARACTERS_A_CELL),
    text(length) {
      if (length > MAX_TEXT_LENGTH) {
        throw new StatementError(`A text would be longer than ${MAX_TEXT_LENGTH} characters.`, "memory");
      }
      characters += length;
      if (characters > MAX_CHARACTERS) throw tooMuch();
    },
    get held() {
      return cells;
    },
    settle(held, rows, width) {
      cells = held;
      hold(rows * (width + ROW_CELLS));
    },
  };
}

const tooMuch = (): StatementError =>
  new StatementError("The statement needs too much memory: filter before it joins, groups or sorts.", "memory");
