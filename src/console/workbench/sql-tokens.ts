/**
 * A statement that is being written, as tokens: nothing is refused, and what has no end yet ends with the text. The same
 * tokens as the gateway's own reader (`'…'`, `"…"`, `--`, C comments that do not nest), and any other character alone.
 * Positions are UTF-16 units from 0.
 */

import { remember } from "../model/remember.ts";

export interface SqlToken {
  readonly kind: "word" | "quoted" | "text" | "number" | "parameter" | "symbol" | "comment";
  /** As written; of a quoted name, the name. */
  readonly text: string;
  readonly from: number;
  readonly to: number;
  /** Its closing quote or the end of its comment is missing; of a comment to the end of its line, always. */
  readonly isOpen: boolean;
}

/** What stands after so many is not looked at. */
const MAX_TOKENS = 10_000;

/** Each in a group of its name, tried in this order; `*_end` is what closes it. */
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

/** Read once for each text: the drawing asks for them several times. */
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

/** Whether it is one statement that says so: its last token is `;`. */
export function isFinished(sql: string): boolean {
  const tokens = tokenizeSql(sql).filter(({ kind }) => kind !== "comment");
  const last = tokens.at(-1);
  return tokens.length > 1 && last?.kind === "symbol" && last.text === ";";
}

/** How many `?` it has; undefined when it is too long to tell. */
export function parametersOf(sql: string): number | undefined {
  const tokens = tokenizeSql(sql);
  return tokens.length < MAX_TOKENS ? tokens.filter(({ kind }) => kind === "parameter").length : undefined;
}
