/**
 * Values that `fpe` of this node wrote recently. If one comes back, quoted by a model or in the next turn, it is not a finding
 * and is not encrypted again.
 */

/**
 * Maximum number of values of one generation, for each type. There are two generations, so memory is bounded while recent values
 * stay.
 */
const MAX_VALUES = 5_000;

/**
 * At most one in `POSSIBLE_VALUES_PER_REMEMBERED` possible values of a type is remembered, but at least `MIN_VALUES` values: a genuine value that equals a
 * remembered one passes unchanged.
 */
const POSSIBLE_VALUES_PER_REMEMBERED = 10_000;
const MIN_VALUES = 100;

/** Maximum number of types. A type counts once for each order of magnitude of its number of possible values. */
const MAX_KINDS = 64;

/** Limits of one value: the number of runs of letters and digits, and the number of characters between two runs. */
const MAX_RUNS = 10;
const MAX_GAP = 3;

const RUN = /[\p{L}\p{N}]+/gu;

/** Remembered value. `size` is the number of values of this form. */
export type IssuedValue = readonly [label: string, symbols: string, size: number];

export interface IssuedValues {
  /**
   * Remembers a value. `label` is the type it was encrypted as, `text` the value as written, `size` the number of values of its
   * form.
   */
  readonly add: (label: string, text: string, size: number) => void;
  /** Adds values that another process of this node wrote, without separators. */
  readonly addFromOtherProcess: (values: readonly IssuedValue[]) => void;
  readonly labelOf: (text: string) => string | undefined;
  /** Returns a function that returns true if a span of the text is within a remembered value. */
  readonly createSpanTest: (text: string) => (start: number, end: number) => boolean;
}

/** Creates the memory. Calls `onNew` for each new value. */
export function createIssuedValues(onNew?: (value: IssuedValue) => void): IssuedValues {
  const labels = new Map<string, string>();
  const kinds = new Map<string, IssuedKind>();
  const lengths = new Set<number>();
  const forget = (values: Iterable<string>): void => {
    for (const symbols of values) labels.delete(symbols);
  };
  const kindOf = (label: string, size: number): IssuedKind => {
    const key = `${label} ${Math.floor(Math.log10(size))}`;
    const known = kinds.get(key);
    if (known !== undefined) return known;
    const [oldest] = kinds;
    if (oldest !== undefined && kinds.size >= MAX_KINDS) {
      kinds.delete(oldest[0]);
      forget(oldest[1].older);
      forget(oldest[1].recent);
    }
    const maxValues = Math.min(MAX_VALUES, Math.max(MIN_VALUES, Math.floor(size / POSSIBLE_VALUES_PER_REMEMBERED)));
    const made: IssuedKind = { most: maxValues, recent: new Set(), older: new Set() };
    kinds.set(key, made);
    return made;
  };
  /** Remembers a value. Returns true if it was unknown. */
  const remember = ([label, symbols, size]: IssuedValue): boolean => {
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
      if (remember(value)) onNew?.(value);
    },
    addFromOtherProcess(values) {
      for (const value of values) remember(value);
    },
    labelOf: (text) => labelOf(symbolsOf(text)),
    createSpanTest(text) {
      if (lengths.size === 0) return () => false;
      let runs: readonly Run[] | undefined;
      return (start, end) => {
        runs ??= runsOf(text);
        const before = lastRunFrom(runs, start);
        // A sign or a bracket may precede the first run of the span.
        const at = (runs[before]?.end ?? 0) > start ? before : before + 1;
        for (let first = Math.min(at, runs.length - 1); first >= 0 && first > at - MAX_RUNS; first -= 1) {
          if (isIssuedFrom(runs, first, end)) return true;
          if (first > 0 && runs[first]!.start - runs[first - 1]!.end > MAX_GAP) break;
        }
        return false;
      };
    },
  };

  function isIssuedFrom(runs: readonly Run[], first: number, end: number): boolean {
    let symbols = "";
    for (let at = first; at < runs.length && at < first + MAX_RUNS; at += 1) {
      const run = runs[at]!;
      if (at > first && run.start - runs[at - 1]!.end > MAX_GAP) return false;
      symbols += run.text;
      if (run.end >= end && lengths.has(symbols.length) && labelOf(symbols) !== undefined) return true;
    }
    return false;
  }
}

interface IssuedKind {
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
function lastRunFrom(runs: readonly Run[], start: number): number {
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
