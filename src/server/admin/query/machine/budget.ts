/**
 * Memory limit of one statement in the worker. The heap of the worker is limited as well, but if V8 runs out of heap within one
 * large allocation, the process ends and not the thread (tried: Node.js 20, a large JSON text): so rows and texts are counted,
 * and a statement ends well before. The limits together are about half of the worker's heap.
 */

/** Why a statement was ended, or why it has no answer. */
export class StatementError extends Error {
  readonly reason: "rows" | "memory" | undefined;

  constructor(message: string, reason?: "rows" | "memory") {
    super(message);
    this.name = "StatementError";
    this.reason = reason;
  }
}

/** Maximum number of values in intermediate and final rows, of 8 bytes each; a row counts for three more. */
const MAX_CELLS = 6_000_000;
/** Maximum length of all texts that functions made, kept or not, in UTF-16 units. */
const MAX_CHARACTERS = 32 * 1024 * 1024;
const MAX_TEXT_LENGTH = 1024 * 1024;
const ROW_CELLS = 3;
/** Cost of a group in the engine besides its values, in cells. */
const GROUP_CELLS = 16;
/** UTF-16 units of a text that cost as much as one value (8 bytes), beyond a short text. */
const CHARACTERS_A_CELL = 8;

export interface Budget {
  /** Resets the count at the start of a statement. */
  begin(): void;
  /** Counts a row of `width` values. Throws above the limit, as do all of these. */
  row(width: number): void;
  group(): void;
  /** Counts a text that is kept beside the rows. */
  kept(text: string): void;
  /** Counts a text before it is made. */
  text(length: number): void;
  /** Amount counted at present. */
  readonly held: number;
  /** Releases everything counted since `held` was read, except `rows` rows. */
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
