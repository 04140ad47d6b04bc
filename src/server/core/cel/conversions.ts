/**
 * Converts values between types. Source: CEL language definition, "Type Conversions". The fault is `overflow` for a number out
 * of range, and `other` for a text that cannot be converted.
 */

import { intOf, uintOf } from "./cel-operators.ts";
import {
  durationText,
  parseDuration,
  parseTimestamp,
  secondsOf,
  timestampOfSeconds,
  timestampText,
} from "./cel-time.ts";
import { Duration, Timestamp, TypeValue, typeName, Uint, type Value } from "./cel-values.ts";
import { COST_FAULT, Fault, INT_OVERFLOW, NO_OVERLOAD, TIME_OVERFLOW, UINT_OVERFLOW } from "./evaluation-faults.ts";
import { chargeText, type Run } from "./evaluation-frame.ts";

const unreadable = (type: string): Fault => new Fault("other", `the text is no ${type}`);

const BAD_INT = unreadable("int");
const BAD_UINT = unreadable("uint");
const BAD_DOUBLE = unreadable("double");
const BAD_BOOL = unreadable("bool");
const BAD_TIMESTAMP = unreadable("timestamp (RFC 3339)");
const BAD_DURATION = unreadable("duration such as 1h30m");
const BAD_UTF8 = new Fault("other", "the bytes are not UTF-8");

/** Maximum length of a number's text. No 64-bit number has more digits, and converting a longer text would take time. */
const MAX_DIGITS = 40;

function toInt(value: Value): Value | Fault {
  if (typeof value === "bigint") return value;
  if (value instanceof Uint) return intOf(value.value);
  if (typeof value === "number") {
    // Both bounds are excluded, since 2^63 is a double but not an int.
    return value > -(2 ** 63) && value < 2 ** 63 ? BigInt(Math.trunc(value)) : INT_OVERFLOW;
  }
  if (typeof value === "string") {
    if (!/^[+-]?\d+$/.test(value)) return BAD_INT;
    return value.length > MAX_DIGITS ? INT_OVERFLOW : intOf(BigInt(value.replace(/^\+/, "")));
  }
  return value instanceof Timestamp ? secondsOf(value) : NO_OVERLOAD;
}

function toUint(value: Value): Value | Fault {
  if (value instanceof Uint) return value;
  if (typeof value === "bigint") return uintOf(value);
  if (typeof value === "number") {
    return value >= 0 && value < 2 ** 64 ? new Uint(BigInt(Math.trunc(value))) : UINT_OVERFLOW;
  }
  if (typeof value !== "string") return NO_OVERLOAD;
  if (!/^\d+$/.test(value)) return BAD_UINT;
  return value.length > MAX_DIGITS ? UINT_OVERFLOW : uintOf(BigInt(value));
}

function toDouble(value: Value): Value | Fault {
  if (typeof value === "number") return value;
  if (typeof value === "bigint") return Number(value);
  if (value instanceof Uint) return Number(value.value);
  if (typeof value !== "string") return NO_OVERLOAD;
  if (/^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/.test(value)) return Number(value);
  const special = /^([+-]?)(?:(nan)|inf(?:inity)?)$/i.exec(value);
  if (special === null) return BAD_DOUBLE;
  if (special[2] !== undefined) return Number.NaN;
  return special[1] === "-" ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
}

const TRUE_TEXTS = new Set(["true", "True", "TRUE", "t", "1"]);
const FALSE_TEXTS = new Set(["false", "False", "FALSE", "f", "0"]);

function toBool(value: Value): Value | Fault {
  if (typeof value === "boolean") return value;
  if (typeof value !== "string") return NO_OVERLOAD;
  return TRUE_TEXTS.has(value) ? true : FALSE_TEXTS.has(value) ? false : BAD_BOOL;
}

function doubleText(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "+Inf" : "-Inf";
  return Object.is(value, -0) ? "-0" : String(value);
}

function toText(value: Value): Value | Fault {
  switch (typeof value) {
    case "string":
      return value;
    case "boolean":
    case "bigint":
      return String(value);
    case "number":
      return doubleText(value);
    default:
  }
  if (value instanceof Uint) return String(value.value);
  if (value instanceof Timestamp) return timestampText(value);
  if (value instanceof Duration) return durationText(value);
  return value instanceof Uint8Array ? decoded(value) : NO_OVERLOAD;
}

function decoded(bytes: Uint8Array): string | Fault {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return BAD_UTF8;
  }
}

export const CONVERSIONS: Readonly<Record<string, Run>> = {
  int: (frame, value) => (chargeSize(frame, value) ? toInt(value) : COST_FAULT),
  uint: (frame, value) => (chargeSize(frame, value) ? toUint(value) : COST_FAULT),
  double: (frame, value) => (chargeSize(frame, value) ? toDouble(value) : COST_FAULT),
  bool: (_, value) => toBool(value),
  string: (frame, value) => (chargeSize(frame, value) ? toText(value) : COST_FAULT),
  bytes: (frame, value) => {
    if (value instanceof Uint8Array) return value;
    if (typeof value !== "string") return NO_OVERLOAD;
    return chargeText(frame, value.length) ? new TextEncoder().encode(value) : COST_FAULT;
  },
  timestamp: (_, value) => {
    if (value instanceof Timestamp) return value;
    if (typeof value === "bigint") return timestampOfSeconds(value) ?? TIME_OVERFLOW;
    return typeof value === "string" ? (parseTimestamp(value) ?? BAD_TIMESTAMP) : NO_OVERLOAD;
  },
  duration: (frame, value) => {
    if (value instanceof Duration) return value;
    if (typeof value !== "string") return NO_OVERLOAD;
    return chargeText(frame, value.length * 8) ? (parseDuration(value) ?? BAD_DURATION) : COST_FAULT;
  },
  dyn: (_, value) => value,
  type: (_, value) => new TypeValue(typeName(value)),
};

const chargeSize = (frame: Parameters<Run>[0], value: Value): boolean =>
  typeof value === "string" || value instanceof Uint8Array ? chargeText(frame, value.length) : true;
