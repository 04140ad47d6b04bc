/**
 * Compares values for equality and order. Source: CEL language definition, "Equality" and "Ordering".
 *
 * Numbers of all types are equal if their values are exactly equal. For order, an int next to a double is compared as the
 * nearest double, as the conformance cases require. NaN equals nothing. Values of different types are unequal, which is not a
 * fault. Strings are ordered by code points. A comparison is charged by what it reads: a list that contains another list twice
 * is small in memory but can be huge when expanded.
 */

import {
  Duration,
  isList,
  isMap,
  mapEntries,
  mapGet,
  mapSize,
  Timestamp,
  TypeValue,
  Uint,
  type Value,
} from "./cel-values.ts";
import { COST_FAULT, type Fault, NO_OVERLOAD } from "./evaluation-faults.ts";
import { charge, chargeText, type Frame } from "./evaluation-frame.ts";

/** Maximum length of a text whose comparison costs nothing beyond the step itself. */
const SHORT_TEXT = 64;

export function equals(frame: Frame, a: Value, b: Value): boolean | Fault {
  if (typeof a === "string") {
    if (typeof b !== "string" || a.length !== b.length) return false;
    if (a.length > SHORT_TEXT && !chargeText(frame, a.length)) return COST_FAULT;
    return a === b;
  }
  if (typeof a === "boolean" || a === null) return a === b;
  const number = numeric(a);
  if (number !== undefined) {
    const other = numeric(b);
    // Two numbers are equal if neither is less; this is exact between bigint and double.
    return other !== undefined && number <= other && number >= other;
  }
  if (b === null || typeof b !== "object" || typeof a !== "object") return false;
  if (isList(a)) return isList(b) && listsEqual(frame, a, b);
  if (a instanceof Uint8Array) return b instanceof Uint8Array && bytesEqual(frame, a, b);
  if (a instanceof Timestamp) return b instanceof Timestamp && a.nanos === b.nanos;
  if (a instanceof Duration) return b instanceof Duration && a.nanos === b.nanos;
  if (a instanceof TypeValue) return b instanceof TypeValue && a.name === b.name;
  return isMap(a) && isMap(b) && mapsEqual(frame, a, b);
}

function numeric(value: Value): bigint | number | undefined {
  if (typeof value === "number" || typeof value === "bigint") return value;
  return value instanceof Uint ? value.value : undefined;
}

function listsEqual(frame: Frame, a: readonly Value[], b: readonly Value[]): boolean | Fault {
  if (a.length !== b.length) return false;
  for (let at = 0; at < a.length; at++) {
    if (!charge(frame, 1)) return COST_FAULT;
    const same = equals(frame, a[at] ?? null, b[at] ?? null);
    if (same !== true) return same;
  }
  return true;
}

function mapsEqual(frame: Frame, a: Parameters<typeof mapGet>[0], b: Parameters<typeof mapGet>[0]): boolean | Fault {
  if (mapSize(a) !== mapSize(b)) return false;
  for (const [key, item] of mapEntries(a)) {
    if (!charge(frame, 2)) return COST_FAULT;
    const other = mapGet(b, key);
    if (other === undefined) return false;
    const same = equals(frame, item, other);
    if (same !== true) return same;
  }
  return true;
}

function bytesEqual(frame: Frame, a: Uint8Array, b: Uint8Array): boolean | Fault {
  if (a.length !== b.length) return false;
  if (!chargeText(frame, a.length)) return COST_FAULT;
  return a.every((byte, index) => byte === b[index]);
}

/** Returns a negative number, zero or a positive number; NaN if the values have no order, as with NaN. */
export function compare(frame: Frame, a: Value, b: Value): number | Fault {
  const number = numeric(a);
  if (number !== undefined) {
    const other = numeric(b);
    if (other === undefined) return NO_OVERLOAD;
    return typeof number === typeof other ? order(number, other) : order(Number(number), Number(other));
  }
  if (typeof a === "string" && typeof b === "string") {
    return chargeText(frame, Math.min(a.length, b.length)) ? compareTexts(a, b) : COST_FAULT;
  }
  if (typeof a === "boolean" && typeof b === "boolean") return Number(a) - Number(b);
  if (a instanceof Timestamp && b instanceof Timestamp) return sign(a.nanos - b.nanos);
  if (a instanceof Duration && b instanceof Duration) return sign(a.nanos - b.nanos);
  if (a instanceof Uint8Array && b instanceof Uint8Array) {
    return chargeText(frame, Math.min(a.length, b.length)) ? compareBytes(a, b) : COST_FAULT;
  }
  return NO_OVERLOAD;
}

const order = (a: bigint | number, b: bigint | number): number => (a < b ? -1 : a > b ? 1 : a >= b ? 0 : Number.NaN);

const sign = (difference: bigint): number => (difference < 0n ? -1 : difference > 0n ? 1 : 0);

function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at++) {
    const difference = (a[at] ?? 0) - (b[at] ?? 0);
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

/** Compares texts by code points: a surrogate pair is greater than every character of one unit. */
function compareTexts(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at++) {
    const [one, other] = [a.charCodeAt(at), b.charCodeAt(at)];
    if (one !== other) return raised(one) - raised(other);
  }
  return a.length - b.length;
}

const raised = (unit: number): number => (unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit);

/** Returns whether `list` contains a value equal to `value`. */
export function includes(frame: Frame, list: readonly Value[], value: Value): boolean | Fault {
  if (!charge(frame, list.length)) return COST_FAULT;
  for (const item of list) {
    const same = equals(frame, item, value);
    if (same !== false) return same;
  }
  return false;
}

/**
 * Returns a key that is equal for two scalar values exactly if the values are equal; `undefined` for a value without one
 * (lists, NaN).
 */
export function scalarKey(value: Value): string | undefined {
  switch (typeof value) {
    case "string":
      return `s${value}`;
    case "boolean":
      return `b${value}`;
    case "bigint":
      return `n${value}`;
    case "number":
      if (Number.isNaN(value)) return undefined;
      return Number.isInteger(value) ? `n${BigInt(value)}` : `n${value}`;
    default:
      return value instanceof Uint ? `n${value.value}` : undefined;
  }
}
