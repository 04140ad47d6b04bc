/**
 * LIKE: `%` matches any text, `_` one character; case-sensitive. Time is at most the product of the two lengths; text and
 * pattern are read in place, since a list of their characters would take many times their memory.
 */

import type { Value } from "../plan.ts";
import { StatementError } from "./budget.ts";
import type { Cell } from "./compare.ts";
import { textOf, unitsAt } from "./text-functions.ts";

export function isLike(value: Cell, pattern: Cell, escaping?: Cell): Value {
  if (value == null || pattern == null || escaping === null) return null;
  const escapedBy = escaping === undefined ? undefined : textOf(escaping);
  if (escapedBy !== undefined && (escapedBy === "" || unitsAt(escapedBy, 0) !== escapedBy.length)) {
    throw new StatementError("ESCAPE takes one character.");
  }
  const parts = textOf(pattern);
  if (escapedBy !== undefined) checkEnd(parts, escapedBy);
  return matches(textOf(value), parts, escapedBy);
}

/** Throws if the pattern ends with its escape character, because an escape makes the next character literal. */
function checkEnd(pattern: string, escapedBy: string): void {
  let at = 0;
  while (at < pattern.length) {
    if (pattern.startsWith(escapedBy, at)) at += escapedBy.length;
    if (at >= pattern.length) throw new StatementError("The pattern of LIKE ends with its escape character.");
    at += unitsAt(pattern, at);
  }
}

/** Returns whether the text matches. Backtracks only to the last `%`, since it can match whatever an earlier one could. */
function matches(text: string, pattern: string, escapedBy: string | undefined): boolean {
  let at = 0;
  let part = 0;
  let resume: { at: number; readonly part: number } | undefined;
  while (at < text.length) {
    const isEscaped = escapedBy !== undefined && part < pattern.length && pattern.startsWith(escapedBy, part);
    const from = isEscaped ? part + escapedBy.length : part;
    const units = unitsAt(text, at);
    if (!isEscaped && pattern[part] === "%") {
      part += 1;
      resume = { at, part };
    } else if (
      from < pattern.length &&
      ((!isEscaped && pattern[part] === "_") || isSame(text, at, units, pattern, from))
    ) {
      part = from + unitsAt(pattern, from);
      at += units;
    } else if (resume !== undefined) {
      resume.at += unitsAt(text, resume.at);
      at = resume.at;
      part = resume.part;
    } else return false;
  }
  while (pattern[part] === "%" && escapedBy !== "%") part += 1;
  return part === pattern.length;
}

const isSame = (text: string, at: number, units: number, pattern: string, from: number): boolean =>
  unitsAt(pattern, from) === units && text.codePointAt(at) === pattern.codePointAt(from);
