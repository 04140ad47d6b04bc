/**
 * Implements the operations on values. NULL in gives NULL out except where SQL defines otherwise; a condition is true, false or
 * NULL. Division by zero and a CAST of an invalid value give NULL, so that the branches of a CASE, which are all computed,
 * cannot end a statement.
 */

import type { Operation, Value } from "../plan.ts";
import { type Budget, StatementError } from "./budget.ts";
import { type Cell, compare, isEqual, parseNumber } from "./compare.ts";
import { jsonLength, jsonText } from "./json.ts";
import { isLike } from "./like.ts";
import { openTextOperations } from "./text-functions.ts";

export type Operations = Readonly<Record<Operation, (...args: readonly Cell[]) => Value>>;

export function toCondition(value: Cell): boolean | null {
  if (value == null) return null;
  if (typeof value === "string") throw new StatementError("A text is not a condition: compare it with something.");
  return typeof value === "boolean" ? value : value !== 0;
}

export function toNumber(value: Cell): number | null {
  if (value == null) return null;
  if (typeof value !== "string") return Number(value);
  const number = parseNumber(value);
  if (number === undefined) {
    throw new StatementError(
      "A number is expected, but the text is not a number. CAST turns such a text into NULL, and epoch() a time into seconds.",
    );
  }
  return number;
}

function finite(value: number): number {
  if (!Number.isFinite(value)) throw new StatementError("A calculated number is too large.");
  return value;
}

export const addFinite = (a: number, b: number): number => finite(a + b);

const arithmetic =
  (compute: (a: number, b: number) => number | null) =>
  (a: Cell, b: Cell): Value => {
    const [left, right] = [toNumber(a), toNumber(b)];
    if (left === null || right === null) return null;
    const value = compute(left, right);
    return value === null ? null : finite(value) + 0;
  };

const ofNumber =
  (compute: (value: number) => number) =>
  (value: Cell): Value => {
    const number = toNumber(value);
    return number === null ? null : finite(compute(number)) + 0;
  };

const comparison =
  (isTrueFor: (order: number) => boolean) =>
  (a: Cell, b: Cell): Value => {
    const order = compare(a, b);
    return order === null ? null : isTrueFor(order);
  };

/** Combines conditions by AND or OR. `decisive`: value of a condition that alone decides the result (false for AND, true for OR). */
function combineConditions(conditions: readonly Cell[], decisive: boolean): Value {
  let isKnown = true;
  for (const condition of conditions) {
    const value = toCondition(condition);
    if (value === decisive) return decisive;
    if (value === null) isKnown = false;
  }
  return isKnown ? !decisive : null;
}

/** Returns whether the value is among the items; NULL if it is not, but the value or an item is NULL. */
export function isAmong(value: Cell, items: readonly Cell[]): boolean | null {
  if (items.length === 0) return false;
  let isKnown = true;
  for (const item of items) {
    const same = isEqual(value, item);
    if (same === true) return true;
    if (same === null) isKnown = false;
  }
  return isKnown ? false : null;
}

function branch(args: readonly Cell[], from: number, isTaken: (condition: Cell) => boolean): Value {
  for (let at = from; at + 1 < args.length; at += 2) if (isTaken(args[at])) return args[at + 1] ?? null;
  return args.at(-1) ?? null;
}

const quotient = (a: number, b: number): number | null => (b === 0 ? null : a / b);

function castNumber(value: Cell): number | null {
  if (value == null) return null;
  return typeof value === "string" ? (parseNumber(value) ?? null) : Number(value);
}

/** Maximum length of a text that is parsed as a boolean: a word, with room for blanks around it. */
const MAX_BOOLEAN_LENGTH = 64;

function castBoolean(value: Cell): Value {
  if (value == null) return null;
  if (typeof value !== "string") return Number(value) !== 0;
  if (value.length > MAX_BOOLEAN_LENGTH) return null;
  const word = value.trim().toLowerCase();
  if (["true", "t", "yes", "1"].includes(word)) return true;
  return ["false", "f", "no", "0"].includes(word) ? false : null;
}

/** Rounds half away from zero, in decimal: 1.005 to two places is 1.01. */
function roundDecimal(value: number, places: number): number {
  const digits = Math.min(15, Math.max(-15, Math.trunc(places)));
  const shifted = Number(`${Math.abs(value).toExponential().replace(/e.*/, "")}e${exponentOf(value) + digits}`);
  if (!Number.isFinite(shifted)) return value;
  return Math.sign(value) * Number(`${Math.round(shifted)}e${-digits}`);
}

const exponentOf = (value: number): number => Number(value.toExponential().replace(/.*e/, ""));

const TIME =
  /^[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})?(?:[Zz]|[+-][0-9]{2}:[0-9]{2}))?$/;

/** Returns seconds since 1970 of an RFC 3339 time or of the beginning of a UTC day. */
function epoch(value: Cell): Value {
  if (typeof value !== "string" || !TIME.test(value)) return null;
  const ms = Date.parse(value);
  return Number.isNaN(ms) ? null : ms / 1000;
}

export function openOperations(budget: Budget): Operations {
  return {
    ...openTextOperations(budget),
    and: (...conditions) => combineConditions(conditions, false),
    or: (...conditions) => combineConditions(conditions, true),
    not(condition) {
      const value = toCondition(condition);
      return value === null ? null : !value;
    },
    eq: comparison((order) => order === 0),
    ne: comparison((order) => order !== 0),
    lt: comparison((order) => order < 0),
    le: comparison((order) => order <= 0),
    gt: comparison((order) => order > 0),
    ge: comparison((order) => order >= 0),
    is_same: (a, b) => (a == null || b == null ? a == null && b == null : compare(a, b) === 0),
    is_null: (value) => value == null,
    is_true: (value) => toCondition(value) === true,
    is_false: (value) => toCondition(value) === false,
    between(value, least, most) {
      const [low, high] = [compare(value, least), compare(value, most)];
      return combineConditions([low === null ? null : low >= 0, high === null ? null : high <= 0], false);
    },
    like: isLike,
    in: (value, ...items) => isAmong(value, items),
    add: arithmetic((a, b) => a + b),
    sub: arithmetic((a, b) => a - b),
    mul: arithmetic((a, b) => a * b),
    div: arithmetic((a, b) => {
      const value = quotient(a, b);
      return value !== null && Number.isInteger(a) && Number.isInteger(b) ? Math.trunc(value) : value;
    }),
    div_integer: arithmetic((a, b) => (b === 0 ? null : Math.trunc(a / b))),
    div_real: arithmetic(quotient),
    mod: arithmetic((a, b) => (b === 0 ? null : a % b)),
    neg: ofNumber((value) => -value),
    plus: ofNumber((value) => value),
    abs: ofNumber(Math.abs),
    floor: ofNumber(Math.floor),
    ceil: ofNumber(Math.ceil),
    round(value, places = 0) {
      const [number, digits] = [toNumber(value), toNumber(places)];
      return number === null || digits === null ? null : roundDecimal(number, digits) + 0;
    },
    json_text: (text, key) => jsonText(budget, text, key),
    json_array_length: jsonLength,
    case: (...args) => branch(args, 0, (condition) => toCondition(condition) === true),
    case_of: (...args) => branch(args, 1, (value) => isEqual(args[0], value) === true),
    coalesce: (...args) => args.find((it) => it != null) ?? null,
    nullif: (a, b) => (isEqual(a, b) === true ? null : (a ?? null)),
    cast_integer(value) {
      const number = castNumber(value);
      return number === null ? null : Math.trunc(number) + 0;
    },
    cast_real: castNumber,
    cast_boolean: castBoolean,
    epoch,
  };
}
