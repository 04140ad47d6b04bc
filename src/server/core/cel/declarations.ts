/**
 * Declares every function of the environment with its types: the standard library, and the strings, lists and sets extensions.
 * Sources: CEL language definition, "List of Standard Definitions"; extensions as cel-go documents them.
 *
 * Operators have the names that the parser gives them. A receiver is the first parameter.
 */

import {
  BOOL,
  BYTES,
  DOUBLE,
  DURATION,
  DYN,
  INT,
  listOf,
  mapOf,
  param,
  STRING,
  TIMESTAMP,
  TYPE,
  type Type,
  UINT,
} from "./types.ts";

export interface Overload {
  readonly params: readonly Type[];
  readonly result: Type;
  /** True if the function is called as `x.f(y)`; the receiver is then the first parameter. */
  readonly isMethod: boolean;
}

const A = param("A");
const B = param("B");
const LIST_A = listOf(A);
const MAP_AB = mapOf(A, B);
const NUMBERS = [INT, UINT, DOUBLE];
const ORDERED = [BOOL, INT, UINT, DOUBLE, STRING, BYTES, TIMESTAMP, DURATION];

const of = (result: Type, ...params: readonly Type[]): Overload => ({ params, result, isMethod: false });
const on = (result: Type, ...params: readonly Type[]): Overload => ({ params, result, isMethod: true });
const same = (types: readonly Type[]): readonly Overload[] => types.map((type) => of(type, type, type));

const ORDER: readonly Overload[] = [
  ...ORDERED.map((type) => of(BOOL, type, type)),
  ...NUMBERS.flatMap((one) => NUMBERS.filter((other) => other !== one).map((other) => of(BOOL, one, other))),
];

const DATE_PART = [on(INT, TIMESTAMP), on(INT, TIMESTAMP, STRING)];
const CLOCK_PART = [...DATE_PART, on(INT, DURATION)];
const SIZED = [STRING, BYTES, LIST_A, MAP_AB];

export const OVERLOADS: ReadonlyMap<string, readonly Overload[]> = new Map<string, readonly Overload[]>([
  ["!_", [of(BOOL, BOOL)]],
  ["-_", [of(INT, INT), of(DOUBLE, DOUBLE)]],
  ["_==_", [of(BOOL, A, A)]],
  ["_!=_", [of(BOOL, A, A)]],
  ["_<_", ORDER],
  ["_<=_", ORDER],
  ["_>_", ORDER],
  ["_>=_", ORDER],
  [
    "_+_",
    [
      ...same([INT, UINT, DOUBLE, STRING, BYTES, LIST_A, DURATION]),
      of(TIMESTAMP, TIMESTAMP, DURATION),
      of(TIMESTAMP, DURATION, TIMESTAMP),
    ],
  ],
  ["_-_", [...same([...NUMBERS, DURATION]), of(DURATION, TIMESTAMP, TIMESTAMP), of(TIMESTAMP, TIMESTAMP, DURATION)]],
  ["_*_", same(NUMBERS)],
  ["_/_", same(NUMBERS)],
  ["_%_", same([INT, UINT])],
  ["@in", [of(BOOL, A, LIST_A), of(BOOL, A, MAP_AB)]],
  ["_[_]", [of(A, LIST_A, INT), of(B, MAP_AB, A)]],
  ["size", [...SIZED.map((type) => of(INT, type)), ...SIZED.map((type) => on(INT, type))]],

  ["int", [INT, UINT, DOUBLE, STRING, TIMESTAMP].map((type) => of(INT, type))],
  ["uint", [UINT, INT, DOUBLE, STRING].map((type) => of(UINT, type))],
  ["double", [DOUBLE, INT, UINT, STRING].map((type) => of(DOUBLE, type))],
  ["bool", [BOOL, STRING].map((type) => of(BOOL, type))],
  ["bytes", [BYTES, STRING].map((type) => of(BYTES, type))],
  ["string", [STRING, BOOL, INT, UINT, DOUBLE, BYTES, TIMESTAMP, DURATION].map((type) => of(STRING, type))],
  ["timestamp", [TIMESTAMP, STRING, INT].map((type) => of(TIMESTAMP, type))],
  ["duration", [DURATION, STRING].map((type) => of(DURATION, type))],
  ["dyn", [of(DYN, A)]],
  ["type", [of(TYPE, A)]],

  ["contains", [on(BOOL, STRING, STRING)]],
  ["startsWith", [on(BOOL, STRING, STRING)]],
  ["endsWith", [on(BOOL, STRING, STRING)]],
  ["matches", [on(BOOL, STRING, STRING), of(BOOL, STRING, STRING)]],

  ["getFullYear", DATE_PART],
  ["getMonth", DATE_PART],
  ["getDate", DATE_PART],
  ["getDayOfMonth", DATE_PART],
  ["getDayOfWeek", DATE_PART],
  ["getDayOfYear", DATE_PART],
  ["getHours", CLOCK_PART],
  ["getMinutes", CLOCK_PART],
  ["getSeconds", CLOCK_PART],
  ["getMilliseconds", CLOCK_PART],

  ["charAt", [on(STRING, STRING, INT)]],
  ["indexOf", [on(INT, STRING, STRING), on(INT, STRING, STRING, INT)]],
  ["lastIndexOf", [on(INT, STRING, STRING), on(INT, STRING, STRING, INT)]],
  ["lowerAscii", [on(STRING, STRING)]],
  ["upperAscii", [on(STRING, STRING)]],
  ["replace", [on(STRING, STRING, STRING, STRING), on(STRING, STRING, STRING, STRING, INT)]],
  ["split", [on(listOf(STRING), STRING, STRING), on(listOf(STRING), STRING, STRING, INT)]],
  ["substring", [on(STRING, STRING, INT), on(STRING, STRING, INT, INT)]],
  ["trim", [on(STRING, STRING)]],
  ["join", [on(STRING, listOf(STRING)), on(STRING, listOf(STRING), STRING)]],
  ["format", [on(STRING, STRING, listOf(DYN))]],
  ["strings.quote", [of(STRING, STRING)]],
  ["reverse", [on(STRING, STRING), on(LIST_A, LIST_A)]],

  ["lists.range", [of(listOf(INT), INT)]],
  ["slice", [on(LIST_A, LIST_A, INT, INT)]],
  ["flatten", [on(LIST_A, listOf(LIST_A)), on(listOf(DYN), listOf(DYN), INT)]],
  ["distinct", [on(LIST_A, LIST_A)]],
  ["sort", ORDERED.map((type) => on(listOf(type), listOf(type)))],
  ["first", [on(A, LIST_A)]],
  ["last", [on(A, LIST_A)]],

  ["sets.contains", [of(BOOL, LIST_A, LIST_A)]],
  ["sets.equivalent", [of(BOOL, LIST_A, LIST_A)]],
  ["sets.intersects", [of(BOOL, LIST_A, LIST_A)]],
]);

/** Names of types that can be used as values: `type(x) == int`. */
export const TYPE_NAMES: ReadonlySet<string> = new Set([
  "bool",
  "int",
  "uint",
  "double",
  "string",
  "bytes",
  "list",
  "map",
  "null_type",
  "type",
  "google.protobuf.Timestamp",
  "google.protobuf.Duration",
]);

/** Returns whether `sortBy` can order items by this type. */
export const isOrdered = (type: Type): boolean => type.kind === "dyn" || ORDERED.some(({ kind }) => kind === type.kind);
