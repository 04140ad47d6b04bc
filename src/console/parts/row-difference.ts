/**
 * Minimal output that turns one row of the terminal into another: each run of differing cells at its column, or the
 * whole row if that is shorter. For a running clock, only the changed digits are written.
 *
 * Only rows of characters that every terminal draws in one cell are compared. Any other row is written completely,
 * since a terminal with different widths would show the rest in the wrong place.
 */

export interface Run {
  readonly text: string;
  /** SGR sequences before and after the text. */
  readonly open: string;
  readonly close: string;
  /** Whether a blank in this style looks different from an unstyled one, for example by its background. */
  readonly marksBlanks: boolean;
}

/** Cells of a row: for each column a character and the index of its style. */
interface Cells {
  readonly text: string;
  readonly styles: readonly number[];
}

interface RowWriter {
  /** Returns the output that makes the row at the cursor show these runs, based on the last call for that row. */
  write(row: number, runs: readonly Run[]): string;
}

/**
 * Matches rows of characters that every terminal draws in one cell: ASCII, Latin letters, the ellipsis, lines, blocks
 * and Braille.
 */
const SIMPLE = /^[\x20-\x7e\u00a1-\u00ac\u00ae-\u024f\u2026\u2500-\u259f\u2800-\u28ff]*$/;
const ERASE = "\x1b[1G\x1b[K";
/** Maximum number of equal cells between two differing runs that are rewritten; moving the cursor over them would cost more. */
const MAX_BETWEEN = 4;
const NONE: Cells = { text: "", styles: [] };
/** Index of the empty style. */
const PLAIN = 0;

/** Creates a writer; all rows are blank at first. */
export function createRowWriter(): RowWriter {
  /** Cells of each row on the terminal; `undefined` if they are unknown. */
  const shown: (Cells | undefined)[] = [];
  const styles: Omit<Run, "text">[] = [{ open: "", close: "", marksBlanks: false }];
  const indexes = new Map<string, number>([["", PLAIN]]);

  function styleOf({ open, close, marksBlanks }: Run): number {
    const known = indexes.get(open);
    if (known !== undefined) return known;
    styles.push({ open, close, marksBlanks });
    indexes.set(open, styles.length - 1);
    return styles.length - 1;
  }

  function cellsOf(runs: readonly Run[]): Cells | undefined {
    const text = runs.map((run) => run.text).join("");
    if (!SIMPLE.test(text)) return undefined;
    const own: number[] = [];
    for (const run of runs) {
      const style = styleOf(run);
      for (const character of run.text) own.push(character === " " && !run.marksBlanks ? PLAIN : style);
    }
    return { text, styles: own };
  }

  /** Returns the cells from one column to before another, with their styles. */
  function painted({ text, styles: own }: Cells, from: number, to: number): string {
    let out = "";
    let at = from;
    while (at < to) {
      const start = at;
      const style = own[at] ?? PLAIN;
      const { open, close, marksBlanks } = styles[style] ?? { open: "", close: "", marksBlanks: false };
      // A blank looks the same in either style, and writing it is shorter than switching the style twice.
      while (at < to && ((own[at] ?? PLAIN) === style || (isBlank(text, own, at) && !marksBlanks))) at += 1;
      out += open + text.slice(start, at).padEnd(at - start) + close;
    }
    return out;
  }

  function difference(before: Cells, next: Cells): string {
    const [had, most] = [endOf(before), endOf(next)];
    let out = "";
    let at = 0;
    while (at < most) {
      if (isSame(before, next, at)) {
        at += 1;
        continue;
      }
      const from = at;
      let to = at + 1;
      for (at = to; at < most && at - to <= MAX_BETWEEN; at += 1) if (!isSame(before, next, at)) to = at + 1;
      at = to;
      out += `\x1b[${from + 1}G${painted(next, from, to)}`;
    }
    return had > most ? `${out}\x1b[${most + 1}G\x1b[K` : out;
  }

  return {
    write(row, runs) {
      const isNew = !(row in shown);
      const before = isNew ? NONE : shown[row];
      const next = cellsOf(runs);
      shown[row] = next;
      if (next === undefined) return ERASE + runs.map(({ open, text, close }) => open + text + close).join("");
      const rewritten = ERASE + difference(NONE, next);
      if (before === undefined) return rewritten;
      const changed = difference(before, next);
      return changed.length <= rewritten.length ? changed : rewritten;
    },
  };
}

/** Returns the number of columns up to the last one that is not blank. */
function endOf({ text, styles }: Cells): number {
  let end = text.length;
  while (end > 0 && isBlank(text, styles, end - 1)) end -= 1;
  return end;
}

const isBlank = (text: string, styles: readonly number[], at: number): boolean =>
  (styles[at] ?? PLAIN) === PLAIN && (text[at] ?? " ") === " ";

const isSame = (one: Cells, other: Cells, at: number): boolean =>
  (one.text[at] ?? " ") === (other.text[at] ?? " ") && (one.styles[at] ?? PLAIN) === (other.styles[at] ?? PLAIN);
