/**
 * Lexer for a statement that is being written: nothing is an error, and an unfinished token ends with the text. It has the
 * tokens of the gateway's own lexer (`'…'`, `"…"`, `--`, C comments without nesting), and any other character is a token.
 * Positions are UTF-16 units from 0.
 */

import { remember } from "../model/remember.ts";

export interface SqlToken {
  readonly kind: "word" | "quoted" | "text" | "number" | "parameter" | "symbol" | "comment";
  /** Text as written; for a quoted name, the name. */
  readonly text: string;
  readonly from: number;
  readonly to: number;
  /** True if the closing quote or the end of the comment is missing; always true for a comment to the end of its line. */
  readonly isOpen: boolean;
}

/** Maximum number of tokens; the rest is not examined. */
const MAX_TOKENS = 10_000;

/** Named groups, tried in this order; `*_end` is the closing part. */
const PARTS = new RegExp(
  [
    String.raw`(?<space>\s+)`,
    String.raw`(?<line>--[^\n]*)`,
    String.raw`(?<comment>/\*.*?(?:(?<comment_end>\*/)|$))`,
    `(?<text>'[^']*(?:''[^']*)*(?<text_end>'?))`,
    `(?<quoted>"[^"]*(?:""[^"]*)*(?<quoted_end>"?))`,
    `(?<word>[A-Za-z_][A-Za-z0-9_]*)`,
    String.raw`(?<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)`,
    String.raw`(?<parameter>\?)`,
    String.raw`(?<symbol>->>|<>|!=|<=|>=|\|\||.)`,
  ].join("|"),
  "sugy",
);

/** Splits a statement into tokens. Memoized, because the drawing needs them several times. */
export const tokenizeSql = remember(tokensOf, 2);

function tokensOf(sql: string): readonly SqlToken[] {
  const tokens: SqlToken[] = [];
  for (const { 0: whole, index: from, groups = {} } of sql.matchAll(PARTS)) {
    if (groups["space"] !== undefined) continue;
    tokens.push({ ...kindOf(whole, groups), from, to: from + whole.length });
    if (tokens.length === MAX_TOKENS) break;
  }
  return tokens;
}

type Groups = Readonly<Record<string, string | undefined>>;

function kindOf(whole: string, groups: Groups): Pick<SqlToken, "kind" | "text" | "isOpen"> {
  if (groups["line"] !== undefined) return { kind: "comment", text: whole, isOpen: true };
  if (groups["comment"] !== undefined)
    return { kind: "comment", text: whole, isOpen: groups["comment_end"] === undefined };
  if (groups["text"] !== undefined) return { kind: "text", text: whole, isOpen: groups["text_end"] === "" };
  if (groups["quoted"] !== undefined) {
    const isOpen = groups["quoted_end"] === "";
    return { kind: "quoted", text: whole.slice(1, isOpen ? undefined : -1).replaceAll('""', '"'), isOpen };
  }
  if (groups["word"] !== undefined) return { kind: "word", text: whole, isOpen: false };
  if (groups["number"] !== undefined) return { kind: "number", text: whole, isOpen: false };
  return { kind: groups["parameter"] === undefined ? "symbol" : "parameter", text: whole, isOpen: false };
}

/** Returns whether the text is a finished statement: its last token is `;`. */
export function isFinished(sql: string): boolean {
  const tokens = tokenizeSql(sql).filter(({ kind }) => kind !== "comment");
  const last = tokens.at(-1);
  return tokens.length > 1 && last?.kind === "symbol" && last.text === ";";
}

/** Returns the number of `?`; `undefined` if the statement is too long to be examined completely. */
export function parametersOf(sql: string): number | undefined {
  const tokens = tokenizeSql(sql);
  return tokens.length < MAX_TOKENS ? tokens.filter(({ kind }) => kind === "parameter").length : undefined;
}
