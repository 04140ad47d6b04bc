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

export const openPeriod = (draft: Draft, span: Span, at: number): Period => new UsedPeriod(draft, { span, at });

class UsedPeriod implements Period {
  readonly #draft: Draft;
  readonly #of: PeriodOf;
  /** Names by number; the stored ones come first. */
  readonly #names: string[];
  readonly #storedNames: number;
  readonly #numbers: Map<string, number>;
  /** Total length of the names, in UTF-16 units. */
  #namesLength: number;
  readonly #rows: number[][] = [];
  /** Positions of rows by `placeKey`. */
  readonly #places: Map<string, number>;
  /** Number of rows under `other`. */
  #others: number;
  /** Number of rows, by traffic type and number of the caller. */
  readonly #ofCaller = new Map<string, number>();
  /** Chunks with changed rows. */
  readonly #touched = new Set<number>();

  constructor(draft: Draft, of: PeriodOf) {
    this.#draft = draft;
    this.#of = of;
    this.#names = [...namesOf(draft, of)];
    this.#storedNames = this.#names.length;
    this.#numbers = new Map(this.#names.map((name, number) => [name, number]));
    this.#namesLength = this.#names.reduce((sum, name) => sum + name.length, 0);
    scanRows(draft, of, (row) => void this.#rows.push([...row]));
    this.#places = new Map(this.#rows.map((row, place) => [placeKey(row), place]));
    this.#others = this.#rows.reduce((sum, row) => sum + (row[1] === OTHER ? 1 : 0), 0);
    for (const row of this.#rows) this.#countRow(row);
  }

  add(hop: number, wanted: UsedNames, counts: readonly number[]): void {
    const [caller, profile, provider, model] = wanted;
    const isOther = caller === FIXED_NAMES[OTHER];
    if (this.#tryAdd(hop, wanted, counts, isOther)) return;
    if (!isOther && this.#tryAdd(hop, [caller, profile, provider, "other"], counts, false)) return;
    if (this.#tryAdd(hop, ["other", "", provider, model], counts, true)) return;
    if (this.#tryAdd(hop, ["other", "", provider, "other"], counts, true)) return;
    const last = [hop, OTHER, 0, OTHER, OTHER];
    const place = this.#places.get(placeKey(last));
    if (place === undefined) this.#push(last, counts);
    else this.#addAt(place, counts);
  }

  each(visit: (hop: number, names: UsedNames, counts: readonly number[]) => void): void {
    const name = (number: number | undefined): string => nameIn(this.#names, number);
    for (const row of this.#rows) {
      const [hop = 0, caller, profile, provider, model] = row;
      visit(hop, [name(caller), name(profile), name(provider), name(model)], row.slice(NAMED_FIELDS));
    }
  }

  write(): void {
    for (const chunk of this.#touched) {
      const part = packRows(this.#rows.slice(chunk * CHUNK_ROWS, (chunk + 1) * CHUNK_ROWS));
      this.#draft.put(usedChunkRowKey({ ...this.#of, chunk }), usedChunkRows.write({ ...this.#of, chunk, rows: part }));
    }
    if (this.#names.length === this.#storedNames) return;
    const own = this.#names.slice(FIXED_NAMES.length);
    this.#draft.put(usedNamesRowKey(this.#of), usedNamesRows.write({ ...this.#of, names: own }));
  }

  /** Adds counts to a row. Returns false if that needs a new row and there is no room. */
  #tryAdd(hop: number, wanted: UsedNames, counts: readonly number[], isOther: boolean): boolean {
    const isKnown = wanted.every((name) => this.#numbers.has(name));
    const known = isKnown
      ? this.#places.get(placeKey([hop, ...wanted.map((name) => this.#numbers.get(name)!)]))
      : undefined;
    if (known !== undefined) {
      this.#addAt(known, counts);
      return true;
    }
    const isFull = isOther
      ? this.#others >= MAX_OTHER_ROWS
      : this.#rows.length - this.#others >= MAX_CALLER_ROWS || this.#isCallerFull(hop, wanted);
    if (isFull) return false;
    const numbered = this.#numbersOf(wanted, isOther ? MAX_OTHER_NAMES_LENGTH : MAX_NAMES_LENGTH);
    if (numbered === undefined) return false;
    this.#push([hop, ...numbered], counts);
    return true;
  }

  #isCallerFull(hop: number, [caller, , , model]: UsedNames): boolean {
    if (model === FIXED_NAMES[OTHER]) return false;
    return (this.#ofCaller.get(`${hop},${this.#numbers.get(caller)}`) ?? 0) >= MAX_ROWS_A_CALLER;
  }

  /** Returns the numbers of the names, and adds unknown names. Returns `undefined` if the names would become too long. */
  #numbersOf(wanted: UsedNames, maxLength: number): number[] | undefined {
    const unknown = wanted.filter((name) => !this.#numbers.has(name));
    const length = unknown.reduce((sum, name) => sum + name.length, this.#namesLength);
    if (unknown.length > 0 && length > maxLength) return undefined;
    return wanted.map((name) => {
      const known = this.#numbers.get(name);
      if (known !== undefined) return known;
      this.#numbers.set(name, this.#names.length);
      this.#namesLength += name.length;
      return this.#names.push(name) - 1;
    });
  }

  /** Appends a row. `named`: traffic type and numbers of the names. */
  #push(named: readonly number[], counts: readonly number[]): void {
    if (named[1] === OTHER) this.#others += 1;
    this.#places.set(placeKey(named), this.#rows.length);
    this.#rows.push([...named, ...counts.map(() => 0)]);
    this.#countRow(named);
    this.#addAt(this.#rows.length - 1, counts);
  }

  #addAt(place: number, counts: readonly number[]): void {
    const row = this.#rows[place]!;
    for (let field = 0; field < counts.length; field += 1) {
      row[NAMED_FIELDS + field] = addCounts(row[NAMED_FIELDS + field]!, counts[field]!);
    }
    this.#touched.add(Math.floor(place / CHUNK_ROWS));
  }

  #countRow([hop, caller]: readonly number[]): void {
    const key = `${hop},${caller}`;
    this.#ofCaller.set(key, (this.#ofCaller.get(key) ?? 0) + 1);
  }
}

const placeKey = (row: readonly number[]): string => `${row[0]},${row[1]},${row[2]},${row[3]},${row[4]}`;

interface PeriodOf {
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
  if (name === undefined) throw new Malformed("a row of usage has an invalid name");
  return name;
}
