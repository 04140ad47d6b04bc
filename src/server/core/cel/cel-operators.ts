/**
 * Operators: arithmetic with the ranges of int64 and uint64, order, membership, index, size. Source: CEL language definition,
 * "Numeric Values" and "List of Standard Definitions".
 */

import { durationOf, timestampOf } from "./cel-time.ts";
import {
  Duration,
  isList,
  isMap,
  MAX_INT,
  MAX_UINT,
  MIN_INT,
  mapGet,
  mapSize,
  Timestamp,
  Uint,
  type Value,
} from "./cel-values.ts";
import { compare, equals, includes } from "./equality.ts";
import {
  COST_FAULT,
  DIVISION_BY_ZERO,
  Fault,
  INDEX_MISSING,
  INT_OVERFLOW,
  KEY_MISSING,
  NO_OVERLOAD,
  TIME_OVERFLOW,
  UINT_OVERFLOW,
} from "./evaluation-faults.ts";
import { charge, chargeText, type Frame, type Run } from "./evaluation-frame.ts";

export const intOf = (value: bigint): bigint | Fault => (value > MAX_INT || value < MIN_INT ? INT_OVERFLOW : value);

export const uintOf = (value: bigint): Uint | Fault =>
  value < 0n || value > MAX_UINT ? UINT_OVERFLOW : new Uint(value);

type Arithmetic = "+" | "-" | "*" | "/" | "%";

function integers(operator: Arithmetic, a: bigint, b: bigint): bigint | Fault {
  switch (operator) {
    case "+":
      return a + b;
    case "-":
      return a - b;
    case "*":
      return a * b;
    case "/":
      return b === 0n ? DIVISION_BY_ZERO : a / b;
    case "%":
      return b === 0n ? DIVISION_BY_ZERO : a % b;
  }
}

function doubles(operator: Arithmetic, a: number, b: number): number | Fault {
  switch (operator) {
    case "+":
      return a + b;
    case "-":
      return a - b;
    case "*":
      return a * b;
    case "/":
      return a / b;
    case "%":
      return NO_OVERLOAD;
  }
}

const arithmetic =
  (operator: Arithmetic): Run =>
  (frame, a, b) => {
    if (typeof a === "bigint" && typeof b === "bigint") {
      const result = integers(operator, a, b);
      return typeof result === "bigint" ? intOf(result) : result;
    }
    if (typeof a === "number" && typeof b === "number") return doubles(operator, a, b);
    if (a instanceof Uint && b instanceof Uint) {
      const result = integers(operator, a.value, b.value);
      return typeof result === "bigint" ? uintOf(result) : result;
    }
    if (operator === "+") return sum(frame, a, b);
    return operator === "-" ? timeDifference(a, b) : NO_OVERLOAD;
  };

/**
 * Joins two texts, bytes or lists, or adds durations and timestamps. The cost of a joined value is charged before it is built.
 */
function sum(frame: Frame, a: Value, b: Value): Value | Fault {
  if (typeof a === "string" && typeof b === "string") {
    return chargeText(frame, a.length + b.length) ? a + b : COST_FAULT;
  }
  if (isList(a) && isList(b)) return charge(frame, a.length + b.length) ? [...a, ...b] : COST_FAULT;
  if (a instanceof Uint8Array && b instanceof Uint8Array) {
    if (!chargeText(frame, a.length + b.length)) return COST_FAULT;
    const bytes = new Uint8Array(a.length + b.length);
    bytes.set(a);
    bytes.set(b, a.length);
    return bytes;
  }
  if (a instanceof Timestamp && b instanceof Duration) return timestampOf(a.nanos + b.nanos) ?? TIME_OVERFLOW;
  if (a instanceof Duration && b instanceof Timestamp) return timestampOf(a.nanos + b.nanos) ?? TIME_OVERFLOW;
  if (a instanceof Duration && b instanceof Duration) return durationOf(a.nanos + b.nanos) ?? TIME_OVERFLOW;
  return NO_OVERLOAD;
}

function timeDifference(a: Value, b: Value): Value | Fault {
  if (a instanceof Timestamp && b instanceof Timestamp) {
    // A time difference is limited to 64 bits of nanoseconds, a smaller range than that of duration literals.
    const nanos = intOf(a.nanos - b.nanos);
    return nanos instanceof Fault ? TIME_OVERFLOW : new Duration(nanos);
  }
  if (a instanceof Timestamp && b instanceof Duration) return timestampOf(a.nanos - b.nanos) ?? TIME_OVERFLOW;
  if (a instanceof Duration && b instanceof Duration) return durationOf(a.nanos - b.nanos) ?? TIME_OVERFLOW;
  return NO_OVERLOAD;
}

const ordering =
  (holds: (order: number) => boolean): Run =>
  (frame, a, b) => {
    const order = compare(frame, a, b);
    return order instanceof Fault ? order : holds(order);
  };

function index(container: Value, key: Value): Value | Fault {
  if (isList(container)) {
    const at = listIndex(key);
    if (at === undefined) return NO_OVERLOAD;
    const item = container[at];
    return item === undefined ? INDEX_MISSING : item;
  }
  if (!isMap(container)) return NO_OVERLOAD;
  const found = mapGet(container, key);
  return found === undefined ? KEY_MISSING : found;
}

/**
 * Converts a value to a list index. Whole numbers of every numeric type are accepted; -1 stands for an index that no list has.
 */
function listIndex(key: Value): number | undefined {
  const number = key instanceof Uint ? key.value : key;
  if (typeof number === "bigint") return number >= 0n && number <= Number.MAX_SAFE_INTEGER ? Number(number) : -1;
  return typeof number === "number" && Number.isInteger(number) ? number : undefined;
}

/** Returns the number of code points in a text. */
function textLength(text: string): number {
  let pairs = 0;
  for (let at = 0; at < text.length - 1; at++) {
    const unit = text.charCodeAt(at);
    if (unit < 0xd800 || unit > 0xdbff) continue;
    const next = text.charCodeAt(at + 1);
    if (next >= 0xdc00 && next <= 0xdfff) {
      pairs++;
      at++;
    }
  }
  return text.length - pairs;
}

const size: Run = (frame, value) => {
  if (typeof value === "string") {
    return chargeText(frame, value.length) ? BigInt(textLength(value)) : COST_FAULT;
  }
  if (isList(value) || value instanceof Uint8Array) return BigInt(value.length);
  return isMap(value) ? BigInt(mapSize(value)) : NO_OVERLOAD;
};

export const OPERATORS: Readonly<Record<string, Run>> = {
  "!_": (_, a) => (typeof a === "boolean" ? !a : NO_OVERLOAD),
  "-_": (_, a) => (typeof a === "bigint" ? intOf(-a) : typeof a === "number" ? -a : NO_OVERLOAD),
  "_==_": equals,
  "_!=_": (frame, a, b) => {
    const same = equals(frame, a, b);
    return same instanceof Fault ? same : !same;
  },
  "_<_": ordering((order) => order < 0),
  "_<=_": ordering((order) => order <= 0),
  "_>_": ordering((order) => order > 0),
  "_>=_": ordering((order) => order >= 0),
  "_+_": arithmetic("+"),
  "_-_": arithmetic("-"),
  "_*_": arithmetic("*"),
  "_/_": arithmetic("/"),
  "_%_": arithmetic("%"),
  "@in": (frame, a, b) => {
    if (isList(b)) return includes(frame, b, a);
    return isMap(b) ? mapGet(b, a) !== undefined : NO_OVERLOAD;
  },
  "_[_]": (_, a, b) => index(a, b),
  size,
};
