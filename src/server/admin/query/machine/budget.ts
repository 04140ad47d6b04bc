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
const CHARACTERS_PER_CELL = 8;

export interface Budget {
  /** Resets the count at the start of a statement. */
  reset(): void;
  /** Counts a row of `width` values. Throws above the limit, like all counting methods. */
  countRow(width: number): void;
  countGroup(): void;
  /** Counts a text that is kept beside the rows. */
  countKept(text: string): void;
  /** Counts a text before it is made. */
  countText(length: number): void;
  /** Current number of cells. */
  readonly usedCells: number;
  /** Releases all cells counted since `usedCells` was read, except those of `rows` rows of `width` values. */
  releaseTo(usedCells: number, rows: number, width: number): void;
}

export function openBudget(): Budget {
  let cells = 0;
  let characters = 0;
  const add = (more: number): void => {
    cells += more;
    if (cells > MAX_CELLS) throw outOfMemory();
  };
  return {
    reset() {
      cells = 0;
      characters = 0;
    },
    countRow: (width) => add(width + ROW_CELLS),
    countGroup: () => add(GROUP_CELLS),
    countKept: (value) => add(ROW_CELLS + value.length / CHARACTERS_PER_CELL),
    countText(length) {
      if (length > MAX_TEXT_LENGTH) {
        throw new StatementError(`A text would be longer than ${MAX_TEXT_LENGTH} characters.`, "memory");
      }
      characters += length;
      if (characters > MAX_CHARACTERS) throw outOfMemory();
    },
    get usedCells() {
      return cells;
    },
    releaseTo(usedCells, rows, width) {
      cells = usedCells;
      add(rows * (width + ROW_CELLS));
    },
  };
}

const outOfMemory = (): StatementError =>
  new StatementError("The statement needs too much memory: filter before it joins, groups or sorts.", "memory");
