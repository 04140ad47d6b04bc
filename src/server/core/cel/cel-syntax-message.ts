/**
 * Explains syntax errors in a helpful sentence. The parser only reports how far it came. Unclosed strings and brackets are
 * found here first, since the parser reports the wrong position for them.
 */

import type { Complaint } from "./expression-tree.ts";

const CLOSING: Readonly<Record<string, string>> = { "(": ")", "[": "]", "{": "}" };

/** Matches a whole string or bytes literal. */
const QUOTED =
  /[rRbB]{0,2}("""(?:[^\\]|\\[\s\S])*?"""|'''(?:[^\\]|\\[\s\S])*?'''|"(?:[^"\\\n\r]|\\.)*"|'(?:[^'\\\n\r]|\\.)*')/y;
const RAW = /[bB]?[rR][bB]?("""[\s\S]*?"""|'''[\s\S]*?'''|"[^"\n\r]*"|'[^'\n\r]*')/y;
const COMMENT = /\/\/[^\n\r]*/y;
const WORD = /[A-Za-z_][A-Za-z0-9_]*/y;

/** Returns the first string or bracket that is not closed, is closed wrongly, or is nested too deep. */
export function scanBrackets(source: string, maxDepth: number): Complaint | undefined {
  const open: { readonly at: number; readonly bracket: string }[] = [];
  for (let at = 0; at < source.length; ) {
    const skipped =
      match(RAW, source, at) ?? match(QUOTED, source, at) ?? match(COMMENT, source, at) ?? match(WORD, source, at);
    if (skipped !== undefined) {
      at += skipped.length;
      continue;
    }
    const char = source[at] ?? "";
    if (char === '"' || char === "'") return { at, message: "the string that begins here does not end" };
    if (char === "`") return { at, message: 'names in back quotes are not read; write `m["a-b"]` for such a key' };
    if (char in CLOSING) {
      open.push({ at, bracket: char });
      if (open.length > maxDepth) return { at, message: `is nested deeper than ${maxDepth} levels` };
    } else if (char === ")" || char === "]" || char === "}") {
      const last = open.pop();
      if (last === undefined) return { at, message: `\`${char}\` closes nothing` };
      const wanted = CLOSING[last.bracket] ?? "";
      if (wanted !== char)
        return { at, message: `\`${last.bracket}\` is closed by \`${char}\`, expected \`${wanted}\`` };
    }
    at++;
  }
  const last = open.at(-1);
  return last && { at: last.at, message: `\`${last.bracket}\` is not closed` };
}

function match(pattern: RegExp, source: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(source)?.[0];
}

/** Hints for common mistakes of people who know other languages. */
const FOREIGN: Readonly<Record<string, string>> = {
  "=": "`=` is not an operator; equality is `==`",
  "&": "`&` is not an operator; the logical one is `&&`",
  "|": "`|` is not an operator; the logical one is `||`",
  and: "`and` is written `&&`",
  or: "`or` is written `||`",
  not: "`not` is written `!`",
  "==": "expected an operand on each side of `==`",
};

const TOKEN = /\s*([A-Za-z_][A-Za-z0-9_]*|[0-9.]+|&&|\|\||[=!<>]=|===?|[^\sA-Za-z0-9_])/y;
const OPERATORS = new Set([
  "&&",
  "||",
  "==",
  "!=",
  "<=",
  ">=",
  "<",
  ">",
  "+",
  "-",
  "*",
  "/",
  "%",
  "?",
  ":",
  "in",
  ",",
  ".",
  "!",
]);

export function syntaxMessage(source: string, error: unknown): Complaint {
  if (error instanceof RangeError) return { at: 0, message: "is nested too deeply" };
  const offset = offsetOf(error);
  if (offset === undefined) return { at: 0, message: error instanceof Error ? error.message : "is not an expression" };
  const at = offset + (/^\s*/.exec(source.slice(offset))?.[0].length ?? 0);
  const token = tokenAt(source, at);
  const next = tokenAt(source, at + (token?.length ?? 0));
  if (error instanceof Error && /reserved/.test(error.message)) {
    return { at, message: `\`${token ?? ""}\` is a reserved word and cannot be a name` };
  }
  if (token === undefined)
    return { at, message: source.trim() === "" ? "is empty" : "expected an expression, found the end" };
  const foreign = FOREIGN[token];
  if (foreign !== undefined && token !== "==") return { at, message: foreign };
  if (OPERATORS.has(token)) {
    const found = next === undefined ? "the end" : `\`${next}\``;
    const wrong = FOREIGN[next ?? ""];
    if (wrong !== undefined && next !== "==") return { at: at + token.length, message: wrong };
    return { at, message: `expected an operand after \`${token}\`, found ${found}` };
  }
  return { at, message: `expected an operator before \`${token}\`` };
}

const tokenAt = (source: string, at: number): string | undefined => match(TOKEN, source, at)?.trim();

/** Returns the position of the parser's error. Its classes are not exported, so it is recognized by shape. */
function offsetOf(error: unknown): number | undefined {
  if (!(error instanceof Error) || !("location" in error)) return undefined;
  const { location } = error;
  if (typeof location !== "object" || location === null || !("start" in location)) return undefined;
  const { start } = location;
  if (typeof start !== "object" || start === null || !("offset" in start)) return undefined;
  return typeof start.offset === "number" ? start.offset : undefined;
}
