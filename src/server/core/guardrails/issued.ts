/**
 * Values that `fpe` of this process wrote lately. One that comes again, quoted by a model or in the next turn, is neither a
 * finding nor encrypted a second time.
 */

/** Values of one generation; there are two, so that the memory is bounded and recent values stay. */
const MOST_VALUES = 50_000;

/** Runs of letters and digits that one value is written in, and characters between two of them. */
const MOST_RUNS = 10;
const MOST_BETWEEN = 3;

const RUN = /[\p{L}\p{N}]+/gu;

export interface Issued {
  /** `label`: type that the value was encrypted as. `text`: as it was written. */
  readonly add: (label: string, text: string) => void;
  readonly labelOf: (text: string) => string | undefined;
  /** A test of places in one text: whether they lie within a value that was issued. */
  readonly within: (text: string) => (start: number, end: number) => boolean;
}

/** `told`: is told of each value that was not known. */
export function createIssued(told?: (label: string, symbols: string) => void): Issued {
  let recent = new Map<string, string>();
  let older = new Map<string, string>();
  const lengths = new Set<number>();
  const labelOf = (symbols: string): string | undefined => recent.get(symbols) ?? older.get(symbols);
  return {
    add(label, text) {
      const symbols = symbolsOf(text);
      if (recent.get(symbols) === label) return;
      const isKnown = older.get(symbols) === label;
      if (recent.size >= MOST_VALUES) {
        older = recent;
        recent = new Map();
      }
      recent.set(symbols, label);
      lengths.add(symbols.length);
      if (!isKnown) told?.(label, symbols);
    },
    labelOf: (text) => labelOf(symbolsOf(text)),
    within(text) {
      if (lengths.size === 0) return () => false;
      let runs: readonly Run[] | undefined;
      return (start, end) => {
        runs ??= runsOf(text);
        const before = lastFrom(runs, start);
        // A sign or a bracket may be before the first run of the place.
        const at = (runs[before]?.end ?? 0) > start ? before : before + 1;
        for (let first = Math.min(at, runs.length - 1); first >= 0 && first > at - MOST_RUNS; first -= 1) {
          if (isIssuedFrom(runs, first, end)) return true;
          if (first > 0 && runs[first]!.start - runs[first - 1]!.end > MOST_BETWEEN) break;
        }
        return false;
      };
    },
  };

  function isIssuedFrom(runs: readonly Run[], first: number, end: number): boolean {
    let symbols = "";
    for (let at = first; at < runs.length && at < first + MOST_RUNS; at += 1) {
      const run = runs[at]!;
      if (at > first && run.start - runs[at - 1]!.end > MOST_BETWEEN) return false;
      symbols += run.text;
      if (run.end >= end && lengths.has(symbols.length) && labelOf(symbols) !== undefined) return true;
    }
    return false;
  }
}

interface Run {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

const runsOf = (text: string): readonly Run[] =>
  [...text.matchAll(RUN)].map(({ index, 0: run }) => ({ start: index, end: index + run.length, text: run }));

/** The last run that begins at a place or before it; -1: there is none. */
function lastFrom(runs: readonly Run[], start: number): number {
  let low = -1;
  let high = runs.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (runs[middle]!.start <= start) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** Whatever separates its groups, a value is the same. */
const symbolsOf = (text: string): string => text.replace(/[^\p{L}\p{N}]+/gu, "");
