/**
 * Values that `fpe` of this node wrote recently. If one comes back, quoted by a model or in the next turn, it is not a finding
 * and is not encrypted again.
 */

/**
 * Maximum number of values of one generation, for each type. There are two generations, so memory is bounded while recent values
 * stay.
 */
const MOST_VALUES = 5_000;

/**
 * At most one in `SPARSE` possible values of a type is remembered, but at least `FEWEST` values: a genuine value that equals a
 * remembered one passes unchanged.
 */
const SPARSE = 10_000;
const FEWEST = 100;

/** Maximum number of types. A type counts once for each order of magnitude of its number of possible values. */
const MOST_KINDS = 64;

/** Limits of one value: the number of runs of letters and digits, and the number of characters between two runs. */
const MOST_RUNS = 10;
const MOST_BETWEEN = 3;

const RUN = /[\p{L}\p{N}]+/gu;

/** Remembered value. `size` is the number of values of this form. */
export type IssuedValue = readonly [label: string, symbols: string, size: number];

export interface Issued {
  /**
   * Remembers a value. `label` is the type it was encrypted as, `text` the value as written, `size` the number of values of its
   * form.
   */
  readonly add: (label: string, text: string, size: number) => void;
  /** Adds values that another process of this node wrote, without separators. */
  readonly learn: (values: readonly IssuedValue[]) => void;
  readonly labelOf: (text: string) => string | undefined;
  /** Returns a function that returns true if a span of the text is within a remembered value. */
  readonly within: (text: string) => (start: number, end: number) => boolean;
}

/** Creates the memory. Calls `onNew` for each new value. */
export function createIssued(onNew?: (value: IssuedValue) => void): Issued {
  const labels = new Map<string, string>();
  const kinds = new Map<string, Kind>();
  const lengths = new Set<number>();
  const forget = (values: Iterable<string>): void => {
    for (const symbols of values) labels.delete(symbols);
  };
  const kindOf = (label: string, size: number): Kind => {
    const key = `${label} ${Math.floor(Math.log10(size))}`;
    const known = kinds.get(key);
    if (known !== undefined) return known;
    const [oldest] = kinds;
    if (oldest !== undefined && kinds.size >= MOST_KINDS) {
      kinds.delete(oldest[0]);
      forget(oldest[1].older);
      forget(oldest[1].recent);
    }
    const most = Math.min(MOST_VALUES, Math.max(FEWEST, Math.floor(size / SPARSE)));
    const made: Kind = { most, recent: new Set(), older: new Set() };
    kinds.set(key, made);
    return made;
  };
  /** Remembers a value. Returns true if it was unknown. */
  const keep = ([label, symbols, size]: IssuedValue): boolean => {
    const kind = kindOf(label, size);
    if (kind.recent.has(symbols)) return false;
    const isKnown = kind.older.delete(symbols);
    if (kind.recent.size >= kind.most) {
      forget(kind.older);
      kind.older = kind.recent;
      kind.recent = new Set();
    }
    kind.recent.add(symbols);
    labels.set(symbols, label);
    lengths.add(symbols.length);
    return !isKnown;
  };
  const labelOf = (symbols: string): string | undefined => labels.get(symbols);
  return {
    add(label, text, size) {
      const value: IssuedValue = [label, symbolsOf(text), size];
      if (keep(value)) onNew?.(value);
    },
    learn(values) {
      for (const value of values) keep(value);
    },
    labelOf: (text) => labelOf(symbolsOf(text)),
    within(text) {
      if (lengths.size === 0) return () => false;
      let runs: readonly Run[] | undefined;
      return (start, end) => {
        runs ??= runsOf(text);
        const before = lastFrom(runs, start);
        // A sign or a bracket may precede the first run of the span.
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

interface Kind {
  readonly most: number;
  recent: Set<string>;
  older: Set<string>;
}

interface Run {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

const runsOf = (text: string): readonly Run[] =>
  [...text.matchAll(RUN)].map(({ index, 0: run }) => ({ start: index, end: index + run.length, text: run }));

/** Returns the last run that begins at or before a position; -1 if there is none. */
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

/** Returns the letters and digits of a value, so that separators make no difference. */
const symbolsOf = (text: string): string => text.replace(/[^\p{L}\p{N}]+/gu, "");
