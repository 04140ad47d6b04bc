/** Text operations. Positions and lengths are in characters (code points), from 1. Results are counted. */

import type { Operation, Value } from "../plan.ts";
import { type Budget, StatementError } from "./budget.ts";
import type { Cell } from "./compare.ts";

export const textOf = (value: Exclude<Value, null>): string => (typeof value === "string" ? value : String(value));

const SURROGATES = /[\ud800-\udfff]/;

type TextOperation = Extract<
  Operation,
  "concat" | "upper" | "lower" | "trim" | "ltrim" | "rtrim" | "substr" | "length" | "replace" | "instr" | "cast_text"
>;

function wholeNumber(value: Exclude<Value, null>): number {
  const number = Number(value);
  if (!Number.isInteger(number)) throw new StatementError("A position or length of a text is a whole number.");
  return number;
}

/** Returns the number of UTF-16 units of the character at `at`. Half a surrogate pair counts as a character. */
export const unitsAt = (text: string, at: number): 1 | 2 => ((text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1);

/**
 * Returns the number of characters in the first `units` of the text. Counts without a list of them, which would take many times
 * the text's memory.
 */
function lengthOf(text: string, units = text.length): number {
  if (!SURROGATES.test(text)) return units;
  let count = 0;
  for (let at = 0; at < units; at += unitsAt(text, at)) count++;
  return count;
}

/** Returns the position of the character with this number, from 0; the end if the text is shorter. */
function offsetOf(text: string, character: number): number {
  let at = 0;
  for (let count = 0; count < character && at < text.length; count++) at += unitsAt(text, at);
  return at;
}

/**
 * Returns `length` characters from position `start`, counted from 1. Positions below 1 reduce the result, since they contain no
 * characters.
 */
function substring(text: string, start: number, length: number): string {
  if (length < 0) throw new StatementError("The length of a part of a text is negative.");
  const [from, to] = [Math.max(0, start - 1), Math.max(0, start - 1 + length)];
  return SURROGATES.test(text) ? text.slice(offsetOf(text, from), offsetOf(text, to)) : text.slice(from, to);
}

export function openTextOperations(
  budget: Budget,
): Readonly<Record<TextOperation, (...args: readonly Cell[]) => Value>> {
  const counted =
    (make: (text: string) => string) =>
    (value: Cell): Value => {
      if (value == null) return null;
      const text = textOf(value);
      budget.countText(text.length);
      return make(text);
    };
  return {
    cast_text: counted((text) => text),
    upper: counted((text) => text.toUpperCase()),
    lower: counted((text) => text.toLowerCase()),
    trim: counted((text) => text.replace(/^ +/, "").replace(/(?<! ) +$/, "")),
    ltrim: counted((text) => text.replace(/^ +/, "")),
    rtrim: counted((text) => text.replace(/(?<! ) +$/, "")),
    concat(...values) {
      let text = "";
      for (const value of values) {
        if (value == null) return null;
        text += textOf(value);
      }
      budget.countText(text.length);
      return text;
    },
    substr(value, start, length = Number.MAX_SAFE_INTEGER) {
      if (value == null || start == null || length === null) return null;
      const text = textOf(value);
      budget.countText(text.length);
      return substring(text, wholeNumber(start), wholeNumber(length));
    },
    length: (value) => (value == null ? null : lengthOf(textOf(value))),
    replace(value, what, by) {
      if (value == null || what == null || by == null) return null;
      const [text, old, other] = [textOf(value), textOf(what), textOf(by)];
      if (old === "") return text;
      const found = text.split(old);
      budget.countText(text.length + (found.length - 1) * (other.length - old.length));
      return found.join(other);
    },
    instr(value, what) {
      if (value == null || what == null) return null;
      const text = textOf(value);
      const at = text.indexOf(textOf(what));
      return at < 0 ? 0 : lengthOf(text, at) + 1;
    },
  };
}
