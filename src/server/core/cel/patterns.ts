/**
 * Implements `matches`: RE2 syntax, found anywhere in the text. Time is linear in the text and, at worst, in the size of the
 * pattern's program. A literal pattern is compiled with the expression. A computed pattern, which may come from a request, is
 * compiled on use, after the cost of its program was charged.
 */

import { RE2JS } from "@bufbuild/re2";
import type { Value } from "./cel-values.ts";
import { COST_FAULT, Fault, NO_OVERLOAD } from "./evaluation-faults.ts";
import { charge, type Frame, type Run } from "./evaluation-frame.ts";

const BAD_PATTERN = new Fault("other", "the pattern is not a regular expression of RE2");
const LARGE_PATTERN = new Fault("other", "the pattern is too large");

/** Maximum length of a pattern in UTF-16 units, and maximum number of instructions of its program. */
const MAX_PATTERN_LENGTH = 1024;
const MAX_INSTRUCTIONS = 10_000;

/** Cost of compiling a pattern, in steps: the minimum, and the cost per unit of its length with repetitions written out. */
const COMPILE_COST = 200;
const COMPILE_COST_PER_UNIT = 20;

/** Assumed size of a Unicode class, in characters. */
const CLASS_LENGTH = 100;

/** Number of instructions per step, for each unit of a text, if the matcher cannot cache its states. */
const INSTRUCTIONS_PER_UNIT = 16;

interface Pattern {
  readonly expression: RE2JS;
  /** Cost in steps per UTF-16 unit of the text. */
  readonly unitCost: number;
}

export function compilePattern(pattern: string): Pattern | Fault {
  if (pattern.length > MAX_PATTERN_LENGTH) return LARGE_PATTERN;
  try {
    const expression = RE2JS.compile(pattern);
    const instructions = expression.re2().prog.numInst();
    if (instructions > MAX_INSTRUCTIONS) return LARGE_PATTERN;
    return { expression, unitCost: 1 + Math.ceil(instructions / INSTRUCTIONS_PER_UNIT) };
  } catch {
    return BAD_PATTERN;
  }
}

export function matchCompiled(frame: Frame, text: Value, pattern: Pattern | Fault): boolean | Fault {
  if (typeof text !== "string") return NO_OVERLOAD;
  if (pattern instanceof Fault) return pattern;
  return charge(frame, text.length * pattern.unitCost) ? pattern.expression.test(text) : COST_FAULT;
}

/** Returns the maximum length of a pattern with its repetitions written out. The library refuses products above 1000. */
function unrolledLength(pattern: string): number {
  const classes = pattern.match(/\\[pP]|\[:/g)?.length ?? 0;
  const counts = [...pattern.matchAll(/\{\d*,?(\d*)\}|\{(\d+)/g)]
    .flatMap(([all]) => all.match(/\d+/g) ?? [])
    .map(Number);
  const most = counts.reduce((product, count) => Math.min(1000, product * Math.max(1, count)), 1);
  return (pattern.length + classes * CLASS_LENGTH) * most;
}

export const PATTERN_FUNCTIONS: Readonly<Record<string, Run>> = {
  matches: (frame, text, pattern) => {
    if (typeof text !== "string" || typeof pattern !== "string") return NO_OVERLOAD;
    if (pattern.length > MAX_PATTERN_LENGTH) return LARGE_PATTERN;
    if (!charge(frame, COMPILE_COST + unrolledLength(pattern) * COMPILE_COST_PER_UNIT)) return COST_FAULT;
    return matchCompiled(frame, text, compilePattern(pattern));
  },
};
