/**
 * Finds the matches of an expression in linear time, without native code. It uses the program that `@bufbuild/re2`
 * compiles, since the library itself only reports whether there is a match. Returns the leftmost match, and of those at
 * one place the one that a backtracking engine would prefer: see `LiveProgram`.
 */

import { RE2JS } from "@bufbuild/re2";
import { LiveProgram } from "./live-program.ts";
import type { Search } from "./match-search.ts";

/** Maximum number of instructions, which limits the time for each character of a text. */
const MAX_INSTRUCTIONS = 4000;

/** Compiles an expression. Throws on invalid RE2 syntax, and on a program of more than `MAX_INSTRUCTIONS`. */
export function compileLinear(regex: string, isCaseSensitive: boolean): RE2JS {
  const flags = RE2JS.DOTALL | RE2JS.MULTILINE | (isCaseSensitive ? 0 : RE2JS.CASE_INSENSITIVE);
  const expression = RE2JS.compile(regex, flags);
  const size = expression.re2().prog.numInst();
  if (size > MAX_INSTRUCTIONS) {
    throw new Error(
      `the expression is too large: ${size} steps with its repeats written out, at most ${MAX_INSTRUCTIONS}`,
    );
  }
  return expression;
}

export function linearSearch(regex: string, isCaseSensitive: boolean): Search {
  const expression = compileLinear(regex, isCaseSensitive);
  const program = new LiveProgram(expression.re2().prog);
  return (text, place) => {
    if (expression.test(text)) program.search(text, place);
  };
}
