/**
 * Cursor over the tokens of one statement, which also enforces its limits. Keywords depend on their position: they matter only
 * where a word could end an expression or a table, so that columns may have their names.
 */

import type { Expression, Name, Query } from "./syntax.ts";
import { invalid, type Token } from "./tokens.ts";

/** Maximum depth of an expression, operators and functions alike: code that walks it recurses as deep. */
const MAX_EXPRESSION_DEPTH = 200;
/** Maximum number of SELECTs; each is a separate statement in the worker. */
const MAX_SELECTS = 64;

/** Keywords that can follow an expression or table. They are taken as aliases only if quoted or after AS. */
const RESERVED = new Set(
  (
    "all and as asc between by case cross desc distinct else end escape except exists fetch from full group having in " +
    "inner intersect is join left like limit natural not null nulls offset on or order outer right select then union " +
    "using when where window with"
  ).split(" "),
);

export interface Cursor {
  readonly peek: (ahead?: number) => Token;
  readonly next: () => Token;
  readonly isWord: (word: string, ahead?: number) => boolean;
  readonly isSymbol: (symbol: string, ahead?: number) => boolean;
  /** Consumes the words if all of them come next. */
  readonly takeWords: (...words: readonly string[]) => boolean;
  readonly takeSymbol: (symbol: string) => boolean;
  readonly expectWord: (word: string) => void;
  readonly expectSymbol: (symbol: string) => void;
  /** Reads a name that cannot be a keyword here; `what` describes the position, for the message. */
  readonly takeName: (what: string) => Name;
  /** Returns the next name unless it is a keyword. */
  readonly takeAlias: () => Name | undefined;
  readonly unexpected: () => Error;
  /** Checks the depth of an expression and returns it. Throws if it is too deep. */
  readonly checkDepth: (expression: Expression, children: readonly Expression[]) => Expression;
  /** Runs `parse` one nesting level deeper. Throws if that is too deep. */
  readonly nested: <T>(parse: () => T) => T;
  readonly countSelect: () => void;
  readonly takeParameter: () => number;
  readonly parameterCount: () => number;
  readonly textBetween: (from: number, to: number) => string;
  readonly parseQuery: (cursor: Cursor) => Query;
}

export function openCursor(sql: string, tokens: readonly Token[], parseQuery: Cursor["parseQuery"]): Cursor {
  const end: Token = { kind: "end", text: "", at: sql.length, end: sql.length };
  const depths = new WeakMap<Expression, number>();
  let index = 0;
  let level = 0;
  let selects = 0;
  let parameters = 0;

  const peek = (ahead = 0): Token => tokens[index + ahead] ?? end;
  const isWord = (word: string, ahead = 0): boolean => {
    const token = peek(ahead);
    return token.kind === "word" && token.text.toLowerCase() === word;
  };
  const isSymbol = (symbol: string, ahead = 0): boolean => {
    const token = peek(ahead);
    return token.kind === "symbol" && token.text === symbol;
  };
  const next = (): Token => {
    const token = peek();
    index += 1;
    return token;
  };
  const unexpected = (): Error => {
    const { kind, text, at } = peek();
    if (kind === "end") return invalid("The statement ends too early.");
    const shown = kind === "text" ? "A text" : kind === "quoted" ? `"${text}"` : `\`${text}\``;
    return invalid(`${shown} is not expected at character ${at + 1}.`);
  };
  const takeSymbol = (symbol: string): boolean => {
    if (!isSymbol(symbol)) return false;
    index += 1;
    return true;
  };
  const takeWords = (...words: readonly string[]): boolean => {
    if (!words.every((word, ahead) => isWord(word, ahead))) return false;
    index += words.length;
    return true;
  };
  const tooDeep = (): Error => invalid(`The statement nests deeper than ${MAX_EXPRESSION_DEPTH} levels.`);

  return {
    peek,
    next,
    isWord,
    isSymbol,
    takeWords,
    takeSymbol,
    expectWord(word) {
      if (!takeWords(word)) throw unexpected();
    },
    expectSymbol(symbol) {
      if (!takeSymbol(symbol)) throw unexpected();
    },
    takeName(what) {
      const { kind, text } = peek();
      if (kind !== "word" && kind !== "quoted") throw invalid(`${what} is missing before character ${peek().at + 1}.`);
      index += 1;
      return { text, isQuoted: kind === "quoted" };
    },
    takeAlias() {
      const { kind, text } = peek();
      if (kind !== "quoted" && (kind !== "word" || RESERVED.has(text.toLowerCase()))) return undefined;
      index += 1;
      return { text, isQuoted: kind === "quoted" };
    },
    unexpected,
    checkDepth(expression, children) {
      const depth = 1 + children.reduce((deepest, child) => Math.max(deepest, depths.get(child) ?? 0), 0);
      if (depth > MAX_EXPRESSION_DEPTH) throw tooDeep();
      depths.set(expression, depth);
      return expression;
    },
    nested(parse) {
      if (level >= MAX_EXPRESSION_DEPTH) throw tooDeep();
      level += 1;
      const parsed = parse();
      level -= 1;
      return parsed;
    },
    countSelect() {
      selects += 1;
      if (selects > MAX_SELECTS) throw invalid(`A statement may have ${MAX_SELECTS} SELECTs.`);
    },
    takeParameter() {
      parameters += 1;
      return parameters - 1;
    },
    parameterCount: () => parameters,
    textBetween: (from, to) => sql.slice(from, to),
    parseQuery,
  };
}
