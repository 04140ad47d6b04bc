/**
 * Implements functions of texts: those of the standard library and the strings extension. Source: cel-go, `ext/strings.go`.
 * Positions are code points, as everywhere in CEL. A text without surrogates is processed by UTF-16 units, which are the same.
 */

import { isList, type Value } from "./cel-values.ts";
import { COST_FAULT, Fault, NO_OVERLOAD } from "./evaluation-faults.ts";
import { charge, chargeText, type Frame, type Run } from "./evaluation-frame.ts";

const OUT_OF_RANGE = new Fault("other", "the position is outside the text");

const SURROGATE = /[\ud800-\udfff]/;

/** Returns the code points of a text that has surrogates; otherwise `undefined`. */
const pointsOf = (text: string): readonly string[] | undefined => (SURROGATE.test(text) ? Array.from(text) : undefined);

/** Returns the text between two positions, which must be within it. */
function cut(text: string, from: bigint, to?: bigint): string | Fault {
  const points = pointsOf(text);
  const length = points?.length ?? text.length;
  const end = to ?? BigInt(length);
  if (from < 0n || end < from || end > BigInt(length)) return OUT_OF_RANGE;
  const [first, last] = [Number(from), Number(end)];
  return points === undefined ? text.slice(first, last) : points.slice(first, last).join("");
}

function charAt(text: string, at: bigint): string | Fault {
  const points = pointsOf(text);
  const length = BigInt(points?.length ?? text.length);
  if (at < 0n || at > length) return OUT_OF_RANGE;
  return at === length ? "" : ((points === undefined ? text[Number(at)] : points[Number(at)]) ?? "");
}

/** Converts positions: to the number of UTF-16 units before a code point, and to the number of code points before a unit. */
const unitsBefore = (points: readonly string[], position: number): number => points.slice(0, position).join("").length;
const pointsBefore = (text: string, offset: number): number => Array.from(text.slice(0, offset)).length;

function find(text: string, part: string, from: bigint | undefined, isLast: boolean): bigint | Fault {
  const points = pointsOf(text);
  const length = points?.length ?? text.length;
  if (from !== undefined && (from < 0n || from > BigInt(length))) return OUT_OF_RANGE;
  const start = from === undefined ? undefined : Number(from);
  const unit = start !== undefined && points !== undefined ? unitsBefore(points, start) : start;
  const at = isLast ? text.lastIndexOf(part, unit) : text.indexOf(part, unit);
  return BigInt(at < 0 || points === undefined ? at : pointsBefore(text, at));
}

const findIn =
  (isLast: boolean, hasStart: boolean): Run =>
  (frame, text, part, from) => {
    if (typeof text !== "string" || typeof part !== "string") return NO_OVERLOAD;
    if (hasStart && typeof from !== "bigint") return NO_OVERLOAD;
    if (!chargeText(frame, text.length)) return COST_FAULT;
    return find(text, part, typeof from === "bigint" ? from : undefined, isLast);
  };

/**
 * Replaces at most `limit` times, left to right; a negative limit means no limit. The cost of the result is charged before it
 * is built.
 */
function replace(frame: Frame, text: string, part: string, by: string, limit: bigint): string | Fault {
  if (!chargeText(frame, text.length)) return COST_FAULT;
  const most = limit < 0n ? Number.POSITIVE_INFINITY : Number(limit);
  const pieces = part === "" ? Array.from(text) : text.split(part);
  const times = Math.min(most, part === "" ? pieces.length + 1 : pieces.length - 1);
  if (!charge(frame, pieces.length) || !chargeText(frame, times * by.length)) return COST_FAULT;
  if (part !== "") return pieces.slice(0, times + 1).join(by) + joinRest(pieces.slice(times + 1), part);
  const head = pieces.slice(0, times).map((piece) => by + piece);
  return head.join("") + pieces.slice(times).join("") + (times > pieces.length ? by : "");
}

const joinRest = (pieces: readonly string[], part: string): string => pieces.map((piece) => part + piece).join("");

/** Splits into at most `limit` parts, the last of which contains the rest; a negative limit means no limit. */
function split(frame: Frame, text: string, by: string, limit: bigint): Value | Fault {
  if (limit === 0n) return [];
  if (!chargeText(frame, text.length)) return COST_FAULT;
  const parts = by === "" ? Array.from(text) : text.split(by);
  if (!charge(frame, parts.length)) return COST_FAULT;
  if (limit < 0n || parts.length <= Number(limit)) return parts;
  const splitCount = Number(limit) - 1;
  return [...parts.slice(0, splitCount), parts.slice(splitCount).join(by)];
}

/** Matches Unicode white space and the line controls, but not the byte order mark. */
const SPACE = /[\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/;

function trim(text: string): string {
  let [start, end] = [0, text.length];
  while (start < end && SPACE.test(text[start] ?? "")) start++;
  while (end > start && SPACE.test(text[end - 1] ?? "")) end--;
  return text.slice(start, end);
}

function join(frame: Frame, list: Value, by: string): Value | Fault {
  if (!isList(list)) return NO_OVERLOAD;
  let length = list.length * by.length;
  for (const item of list) {
    if (typeof item !== "string") return NO_OVERLOAD;
    length += item.length;
  }
  return charge(frame, list.length) && chargeText(frame, length) ? list.join(by) : COST_FAULT;
}

/** Returns an implementation of a function of one text, charged by the text's length. */
const ofText =
  (apply: (text: string) => Value | Fault): Run =>
  (frame, text) => {
    if (typeof text !== "string") return NO_OVERLOAD;
    return chargeText(frame, text.length) ? apply(text) : COST_FAULT;
  };

/** Returns an implementation of a test of a text for a part. `chargedBy` decides which of the two lengths is charged. */
const test =
  (holds: (text: string, part: string) => boolean, chargedBy: "end" | "whole"): Run =>
  (frame, text, part) => {
    if (typeof text !== "string" || typeof part !== "string") return NO_OVERLOAD;
    return chargeText(frame, chargedBy === "end" ? part.length : text.length) ? holds(text, part) : COST_FAULT;
  };

const ESCAPES: Readonly<Record<string, string>> = {
  "\u0007": "\\a",
  "\b": "\\b",
  "\f": "\\f",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\v": "\\v",
  "\\": "\\\\",
  '"': '\\"',
};

const quote = (text: string): string =>
  `"${text.toWellFormed().replace(/[\u0007\b\f\n\r\t\v\\"]/g, (char) => ESCAPES[char] ?? char)}"`;

export const STRING_FUNCTIONS: Readonly<Record<string, Run>> = {
  contains: test((text, part) => text.includes(part), "whole"),
  startsWith: test((text, part) => text.startsWith(part), "end"),
  endsWith: test((text, part) => text.endsWith(part), "end"),
  charAt: (frame, text, at) => {
    if (typeof text !== "string" || typeof at !== "bigint") return NO_OVERLOAD;
    return chargeText(frame, text.length) ? charAt(text, at) : COST_FAULT;
  },
  indexOf: findIn(false, false),
  "indexOf/3": findIn(false, true),
  lastIndexOf: findIn(true, false),
  "lastIndexOf/3": findIn(true, true),
  lowerAscii: ofText((text) => text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())),
  upperAscii: ofText((text) => text.replace(/[a-z]+/g, (letters) => letters.toUpperCase())),
  replace: (frame, text, part, by) =>
    typeof text === "string" && typeof part === "string" && typeof by === "string"
      ? replace(frame, text, part, by, -1n)
      : NO_OVERLOAD,
  "replace/4": (frame, text, part, by, limit) =>
    typeof text === "string" && typeof part === "string" && typeof by === "string" && typeof limit === "bigint"
      ? replace(frame, text, part, by, limit)
      : NO_OVERLOAD,
  split: (frame, text, by) =>
    typeof text === "string" && typeof by === "string" ? split(frame, text, by, -1n) : NO_OVERLOAD,
  "split/3": (frame, text, by, limit) =>
    typeof text === "string" && typeof by === "string" && typeof limit === "bigint"
      ? split(frame, text, by, limit)
      : NO_OVERLOAD,
  substring: (frame, text, from) => {
    if (typeof text !== "string" || typeof from !== "bigint") return NO_OVERLOAD;
    return chargeText(frame, text.length) ? cut(text, from) : COST_FAULT;
  },
  "substring/3": (frame, text, from, to) => {
    if (typeof text !== "string" || typeof from !== "bigint" || typeof to !== "bigint") return NO_OVERLOAD;
    return chargeText(frame, text.length) ? cut(text, from, to) : COST_FAULT;
  },
  trim: ofText(trim),
  join: (frame, list) => join(frame, list, ""),
  "join/2": (frame, list, by) => (typeof by === "string" ? join(frame, list, by) : NO_OVERLOAD),
  "strings.quote": ofText(quote),
};
