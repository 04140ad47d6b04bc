/**
 * Usage of one hour or one day: rows are found by caller and target, added to, and written back in chunks.
 *
 * A period has at most 2,000 caller rows, those reported first, and at most 100 per caller and traffic type; further models of a
 * caller are summed as `other`, since callers choose model names. Everything else is summed under the caller `other`, by traffic
 * type, provider and model; if there are too many of those, by traffic type and provider; then by traffic type. So the sum over
 * all rows is always complete, and sums by provider are complete unless a period has more than 256 of them. Which callers have
 * rows of their own depends on the order of the log, which is the same on every replica.
 */

import { Malformed } from "../fields.ts";
import type { Draft } from "../mutation-draft.ts";
import { addCounts, packRows, scanPacked } from "./used-packing.ts";
import {
  CHUNK_ROWS,
  FIXED_NAMES,
  NAMED_FIELDS,
  periodKey,
  SPANS,
  type Span,
  USED_WIDTH,
  usedChunkRowKey,
  usedChunkRows,
  usedNamesRowKey,
  usedNamesRows,
} from "./used-rows.ts";

export const MAX_CALLER_ROWS = 2_000;
/** Maximum rows of one traffic type and caller, except those of its model `other`. */
export const MAX_ROWS_A_CALLER = 100;
/** Maximum number of rows under `other` before they are summed further. */
export const MAX_OTHER_ROWS = 256;
/** Maximum total length of names that caller rows add, in UTF-16 units. */
const MAX_NAMES_LENGTH = 48 * 1_024;
/** Maximum total length of names that rows under `other` may use, in UTF-16 units. */
const MAX_OTHER_NAMES_LENGTH = 64 * 1_024;

const OTHER = 1;

/** Names of a row: caller, profile, provider (or server, agent), model. */
export type UsedNames = readonly [caller: string, profile: string, provider: string, model: string];

export interface Period {
  /** Adds counts, which are in the order of `COUNTS`. */
  add(hop: number, names: UsedNames, counts: readonly number[]): void;
  /** Visits every row. */
  each(visit: (hop: number, names: UsedNames, counts: readonly number[]) => void): void;
  write(): void;
}

export function openPeriod(draft: Draft, span: Span, at: number): Period {
  const names = [...namesOf(draft, { span, at })];
  const rows: number[][] = [];
  const touched = new Set<number>();
  scanRows(draft, { span, at }, (row) => void rows.push([...row]));
  const numbers = new Map(names.map((name, number) => [name, number]));
  const places = new Map(rows.map((row, place) => [placeKey(row), place]));
  const before = names.length;
  let namesLength = names.reduce((sum, name) => sum + name.length, 0);
  let others = rows.reduce((sum, row) => sum + (row[1] === OTHER ? 1 : 0), 0);
  /** Number of rows, by traffic type and number of the caller. */
  const ofCaller = new Map<string, number>();
  const count = ([hop, caller]: readonly number[]): void => {
    const key = `${hop},${caller}`;
    ofCaller.set(key, (ofCaller.get(key) ?? 0) + 1);
  };
  for (const row of rows) count(row);
  const isCallerFull = (hop: number, [caller, , , model]: UsedNames): boolean =>
    model !== FIXED_NAMES[OTHER] && (ofCaller.get(`${hop},${numbers.get(caller)}`) ?? 0) >= MAX_ROWS_A_CALLER;

  /**
   * Returns the numbers of the names, and adds unknown names. Returns `undefined` if the period's names would become too long.
   */
  const numbersOf = (wanted: UsedNames, maxLength: number): number[] | undefined => {
    const unknown = wanted.filter((name) => !numbers.has(name));
    const length = unknown.reduce((sum, name) => sum + name.length, namesLength);
    if (unknown.length > 0 && length > maxLength) return undefined;
    return wanted.map((name) => {
      const known = numbers.get(name);
      if (known !== undefined) return known;
      numbers.set(name, names.length);
      namesLength += name.length;
      return names.push(name) - 1;
    });
  };
  const addAt = (place: number, counts: readonly number[]): void => {
    const row = rows[place]!;
    for (let field = 0; field < counts.length; field += 1) {
      row[NAMED_FIELDS + field] = addCounts(row[NAMED_FIELDS + field]!, counts[field]!);
    }
    touched.add(Math.floor(place / CHUNK_ROWS));
  };
  /** Adds counts to a row. Returns false if that needs a new row and there is no room. */
  const tryAdd = (hop: number, wanted: UsedNames, counts: readonly number[], isOther: boolean): boolean => {
    const isKnown = wanted.every((name) => numbers.has(name));
    const known = isKnown ? places.get(placeKey([hop, ...wanted.map((name) => numbers.get(name)!)])) : undefined;
    if (known !== undefined) {
      addAt(known, counts);
      return true;
    }
    const isFull = isOther
      ? others >= MAX_OTHER_ROWS
      : rows.length - others >= MAX_CALLER_ROWS || isCallerFull(hop, wanted);
    if (isFull) return false;
    const numbered = numbersOf(wanted, isOther ? MAX_OTHER_NAMES_LENGTH : MAX_NAMES_LENGTH);
    if (numbered === undefined) return false;
    push([hop, ...numbered], counts);
    return true;
  };
  const push = (named: readonly number[], counts: readonly number[]): void => {
    if (named[1] === OTHER) others += 1;
    places.set(placeKey(named), rows.length);
    rows.push([...named, ...counts.map(() => 0)]);
    count(named);
    addAt(rows.length - 1, counts);
  };

  return {
    add(hop, wanted, counts) {
      const [caller, profile, provider, model] = wanted;
      const isOther = caller === FIXED_NAMES[OTHER];
      if (tryAdd(hop, wanted, counts, isOther)) return;
      if (!isOther && tryAdd(hop, [caller, profile, provider, "other"], counts, false)) return;
      if (tryAdd(hop, ["other", "", provider, model], counts, true)) return;
      if (tryAdd(hop, ["other", "", provider, "other"], counts, true)) return;
      const last = [hop, OTHER, 0, OTHER, OTHER];
      const place = places.get(placeKey(last));
      if (place === undefined) push(last, counts);
      else addAt(place, counts);
    },
    each(visit) {
      for (const row of rows) {
        const [hop = 0, caller, profile, provider, model] = row;
        const name = (number: number | undefined): string => nameIn(names, number);
        visit(hop, [name(caller), name(profile), name(provider), name(model)], row.slice(NAMED_FIELDS));
      }
    },
    write() {
      for (const chunk of touched) {
        const part = packRows(rows.slice(chunk * CHUNK_ROWS, (chunk + 1) * CHUNK_ROWS));
        draft.put(usedChunkRowKey({ span, at, chunk }), usedChunkRows.write({ span, at, chunk, rows: part }));
      }
      if (names.length === before) return;
      const own = names.slice(FIXED_NAMES.length);
      draft.put(usedNamesRowKey({ span, at }), usedNamesRows.write({ span, at, names: own }));
    },
  };
}

const placeKey = (row: readonly number[]): string => `${row[0]},${row[1]},${row[2]},${row[3]},${row[4]}`;

export interface PeriodOf {
  readonly span: Span;
  /** Number of hours or days since 1970. */
  readonly at: number;
}

type Rows = Pick<Draft, "get" | "scan">;

/** Returns the periods of the ledger, days first, each in order of time. */
export function periodsOf(rows: Pick<Draft, "scan">): readonly PeriodOf[] {
  const periods: PeriodOf[] = [];
  for (const span of SPANS.toReversed()) {
    let last = -1;
    const { length } = `used/${span}/`;
    for (const [key] of rows.scan(`used/${span}/`)) {
      const at = Number(key.slice(length, key.indexOf("/", length)));
      if (at !== last) periods.push({ span, at });
      last = at;
    }
  }
  return periods;
}

/**
 * Reads a period without building objects. `visit` gets the names, and each row with indexes into them; it must not keep the
 * row. Fields are as in `USED_WIDTH`. Throws `Malformed`.
 */
export function scanPeriod(
  rows: Rows,
  of: PeriodOf,
  visit: (row: readonly number[], names: readonly string[]) => void,
): void {
  const names = namesOf(rows, of);
  scanRows(rows, of, (row) => visit(row, names));
}

function namesOf(rows: Rows, of: PeriodOf): readonly string[] {
  const value = rows.get(usedNamesRowKey(of));
  return value === undefined ? FIXED_NAMES : [...FIXED_NAMES, ...usedNamesRows.read(value).names];
}

function scanRows(rows: Rows, { span, at }: PeriodOf, visit: (row: readonly number[]) => void): void {
  for (const [key, value] of rows.scan(periodKey(span, at))) {
    if (!key.endsWith("/names")) scanPacked(usedChunkRows.read(value).rows, USED_WIDTH, visit);
  }
}

/** Returns the name with this number. Throws `Malformed` if there is none. */
function nameIn(names: readonly string[], number = -1): string {
  const name = names[number];
  if (name === undefined) throw new Malformed("a row of usage has a name that is none");
  return name;
}
