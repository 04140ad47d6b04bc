/**
 * Converts Cedar's offsets in the text of a policy file to positions, and checks whether the text is too deeply nested for
 * Cedar's parser and evaluator.
 *
 * Both recurse, and Cedar no longer works in this process after a stack overflow. The optimized evaluator takes about 9 KB of
 * V8's 984 KB of stack per operator, and so fails at 110 operators; a nested bracket counts as one. Policies that people write
 * are far below.
 */

export const MAX_POLICY_BYTES = 1 << 20;
/** Maximum nesting of brackets. */
const MAX_NESTING = 24;
/** Maximum number of operators in one policy. Commas do not count, so a list may have any length. */
const MAX_OPERATORS = 64;
/** Maximum number of reported problems: a person works through the first few. */
export const MAX_PROBLEMS = 20;

export interface Position {
  /** Line, counted from 1. */
  readonly line: number;
  /** Column in UTF-16 units, counted from 1. */
  readonly column: number;
}

/** Error or probable mistake in a policy, with its position. */
export interface PolicyProblem extends Position {
  readonly message: string;
}

/** Converts an index in UTF-16 units to a position. */
export function positionAt(text: string, index: number): Position {
  const before = text.slice(0, index);
  const start = before.lastIndexOf("\n") + 1;
  let line = 1;
  for (let at = before.indexOf("\n"); at >= 0; at = before.indexOf("\n", at + 1)) line += 1;
  return { line, column: index - start + 1 };
}

/** Converts an offset in the UTF-8 bytes of a text to an index in UTF-16 units. */
export function indexOfByte(bytes: Uint8Array, offset: number): number {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes.subarray(0, offset)).length;
}

/** Matches the beginning of a comment or a string, an operator, a bracket, or the end of a policy. */
const TOKEN = /\/\/|"|&&|\|\||[-+*!.]|\bif\b|[([{]|[)\]}]|;/g;

/** Returns the first place that exceeds the limits of the parser or the evaluator. */
export function findExcessiveNesting(text: string): { readonly index: number; readonly message: string } | undefined {
  let depth = 0;
  let operators = 0;
  const tokens = new RegExp(TOKEN);
  for (let found = tokens.exec(text); found !== null; found = tokens.exec(text)) {
    const { 0: token, index } = found;
    if (token === "//") {
      tokens.lastIndex = endOf(text, text.indexOf("\n", index));
    } else if (token === '"') {
      tokens.lastIndex = endOfString(text, index + 1);
    } else if (token === ";") {
      operators = 0;
    } else if (")]}".includes(token)) {
      depth = Math.max(0, depth - 1);
    } else {
      operators += 1;
      if ("([{".includes(token)) depth += 1;
      if (depth > MAX_NESTING) return { index, message: `is nested deeper than ${MAX_NESTING} brackets` };
      if (operators > MAX_OPERATORS) {
        return { index, message: `a policy has more than ${MAX_OPERATORS} operators; write several policies` };
      }
    }
  }
  return undefined;
}

/** Returns the index after the closing quote, or the end of the text for an unclosed string. */
function endOfString(text: string, from: number): number {
  let at = from;
  while (at < text.length && text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
  return Math.min(at + 1, text.length);
}

const endOf = (text: string, found: number): number => (found < 0 ? text.length : found);
