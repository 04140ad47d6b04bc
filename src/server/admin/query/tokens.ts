/**
 * Splits a statement into tokens. Everything not listed here is refused: the quotes and brackets in which other dialects hide
 * identifiers, variables and code, and every non-ASCII character outside of a text.
 *
 * A text is `'…'` with `''` for a quote; a backslash in it has no special meaning. An identifier in `"…"` is taken literally.
 * Comments are dropped. Positions are UTF-16 units from 0.
 */

import { refusal } from "../refusal.ts";

export interface Token {
  readonly kind: "word" | "quoted" | "text" | "number" | "parameter" | "symbol" | "end";
  /** Text or quoted identifier without its quotes; a word as it was written. */
  readonly text: string;
  readonly at: number;
  readonly end: number;
}

/** Maximum nesting of parentheses; parsing and binding recurse as deep. */
const MAX_DEPTH = 100;
const MAX_IDENTIFIER_LENGTH = 64;

const SYMBOLS = [
  "->>",
  "->",
  "<>",
  "!=",
  "<=",
  ">=",
  "||",
  "(",
  ")",
  ",",
  ".",
  "*",
  "+",
  "-",
  "/",
  "%",
  "=",
  "<",
  ">",
  ";",
];

const WORD = /[A-Za-z_][A-Za-z0-9_]*/y;
const NUMBER = /(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?/y;
const SPACE = /[ \t\r\n]+/y;

export const invalid = (message: string): Error => refusal("invalid", message);

const atPosition = (at: number): string => `at character ${at + 1}`;

export function tokenize(sql: string): readonly Token[] {
  const tokens: Token[] = [];
  let at = 0;
  let depth = 0;
  const push = (kind: Token["kind"], text: string, end: number): void => {
    tokens.push({ kind, text, at, end });
    at = end;
  };
  while (at < sql.length) {
    const skipped = spaceOrComment(sql, at);
    if (skipped > at) {
      at = skipped;
      continue;
    }
    const char = sql.charAt(at);
    if (char === "'") {
      const end = endOfQuoted(sql, at, "'", "text");
      push("text", sql.slice(at + 1, end - 1).replaceAll("''", "'"), end);
      continue;
    }
    if (char === '"') {
      const end = endOfQuoted(sql, at, '"', "identifier");
      push("quoted", identifier(sql.slice(at + 1, end - 1).replaceAll('""', '"'), at), end);
      continue;
    }
    if (char === "?") {
      push("parameter", "?", at + 1);
      continue;
    }
    const word = matchAt(WORD, sql, at);
    if (word !== undefined) {
      push("word", identifier(word, at), at + word.length);
      continue;
    }
    const number = matchAt(NUMBER, sql, at);
    if (number !== undefined) {
      const end = at + number.length;
      if (/[A-Za-z0-9_.]/.test(sql.charAt(end)))
        throw invalid(`There is no number \`${sql.slice(at, end + 1)}\`, ${atPosition(at)}.`);
      push("number", number, end);
      continue;
    }
    const symbol = SYMBOLS.find((it) => sql.startsWith(it, at));
    if (symbol === undefined) throw unknownCharacter(sql, at);
    if (symbol === "->")
      throw invalid(`\`->\` ${atPosition(at)} is not known: \`->>\` reads a key or an item of JSON as text.`);
    if (symbol === "(") depth += 1;
    if (symbol === ")") depth -= 1;
    if (depth > MAX_DEPTH) throw invalid(`The statement nests more than ${MAX_DEPTH} parentheses.`);
    push("symbol", symbol, at + symbol.length);
  }
  push("end", "", at);
  return tokens;
}

function matchAt(pattern: RegExp, sql: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(sql)?.[0];
}

/** Returns the position after a space or comment that begins here; the same position if there is none. */
function spaceOrComment(sql: string, at: number): number {
  if (sql.startsWith("--", at)) {
    const end = sql.indexOf("\n", at);
    return end < 0 ? sql.length : end + 1;
  }
  if (sql.startsWith("/*", at)) {
    const end = sql.indexOf("*/", at + 2);
    if (end < 0) throw invalid(`The comment ${atPosition(at)} has no end.`);
    if (sql.slice(at + 2, end).includes("/*")) throw invalid(`Comments do not nest, ${atPosition(at)}.`);
    return end + 2;
  }
  return at + (matchAt(SPACE, sql, at)?.length ?? 0);
}

/** Returns the position after the closing quote; a doubled quote is an escaped quote. */
function endOfQuoted(sql: string, at: number, quote: string, what: string): number {
  let end = at + 1;
  for (;;) {
    end = sql.indexOf(quote, end);
    if (end < 0) throw invalid(`The ${what} ${atPosition(at)} has no closing ${quote}.`);
    if (sql.charAt(end + 1) !== quote) return end + 1;
    end += 2;
  }
}

function identifier(name: string, at: number): string {
  if (/[\u0000-\u001f\u007f-\u009f]/.test(name))
    throw invalid(`An identifier contains a control character, ${atPosition(at)}.`);
  if (name === "" || name.length > MAX_IDENTIFIER_LENGTH) {
    throw invalid(`An identifier has 1 to ${MAX_IDENTIFIER_LENGTH} characters, ${atPosition(at)}.`);
  }
  return name;
}

function unknownCharacter(sql: string, at: number): Error {
  const char = String.fromCodePoint(sql.codePointAt(at) ?? 0);
  if ("`[]".includes(char))
    return invalid(`\`${char}\` ${atPosition(at)} is not known: identifiers are quoted with "…".`);
  if ("@:#$".includes(char)) return invalid(`\`${char}\` ${atPosition(at)} is not known: a parameter is \`?\`.`);
  const shown = /^[!-~]$/.test(char)
    ? `\`${char}\``
    : `U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
  return invalid(`The character ${shown} ${atPosition(at)} is only allowed in a text.`);
}
