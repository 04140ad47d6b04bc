/**
 * Reads sentences of a CoNLL file as cases: one token and its tag per line, and a blank line after each sentence. The
 * text is the tokens joined by spaces. Tags are BIO, IOB1, BIOES or BILOU, or a bare type. Source: guardrails
 * reference, 7.
 */

import { utf8Length } from "../../server/core/guardrails/index.ts";
import { DataError, type EvalCase, type Mark } from "./evaluation-case.ts";
import type { Warn } from "./json-line-cases.ts";
import { type Line, MAX_LINE_BYTES } from "./split-lines.ts";

interface Token {
  readonly text: string;
  readonly tag: string;
}

/** Yields the sentences. Throws `DataError`. */
export async function* sentencesOf(lines: AsyncIterable<Line>, file: string, warn: Warn): AsyncGenerator<EvalCase> {
  let tokens: Token[] = [];
  let first = 1;
  let length = 0;
  for await (const { number, text } of lines) {
    if (isAside(text)) continue;
    if (text.trim() !== "") {
      if (tokens.length === 0) first = number;
      const token = tokenOf(text, () =>
        warn("tag", `${file}:${number}: a line of one column is a token without a tag`),
      );
      length += token.text.length + 1;
      if (length > MAX_LINE_BYTES)
        throw new DataError(file, first, `the sentence is longer than ${MAX_LINE_BYTES} characters`);
      tokens.push(token);
      continue;
    }
    if (tokens.length > 0) yield caseOf(tokens, file, first);
    tokens = [];
    length = 0;
  }
  if (tokens.length > 0) yield caseOf(tokens, file, first);
}

/** Returns whether a line is the start mark of a document or a comment of CoNLL-U. */
const isAside = (line: string): boolean => line.startsWith("-DOCSTART-") || /^# [^=]* =/.test(line);

function tokenOf(line: string, onBare: () => void): Token {
  const columns = line.includes("\t") ? line.split("\t").map((cell) => cell.trim()) : line.trim().split(/\s+/);
  const filled = columns.filter((cell, at) => at === 0 || cell !== "");
  if (filled.length === 1) onBare();
  return { text: filled[0] ?? "", tag: filled.length === 1 ? "O" : (filled.at(-1) ?? "O") };
}

function caseOf(tokens: readonly Token[], file: string, line: number): EvalCase {
  const text = tokens.map((token) => token.text).join(" ");
  return { file, line, text, spans: marksOf(tokens), labels: undefined, tags: [], kind: undefined, system: "" };
}

/** Returns the marks in order. A continuation tag without an open mark opens one. */
function marksOf(tokens: readonly Token[]): readonly Mark[] {
  const marks: Mark[] = [];
  let open: { start: number; end: number; readonly type: string } | undefined;
  let at = 0;
  const close = (): void => {
    if (open !== undefined) marks.push({ ...open });
    open = undefined;
  };
  for (const { text, tag } of tokens) {
    const end = at + utf8Length(text);
    const { part, type } = tagOf(tag);
    if (type === "" || part === "begin" || part === "single" || open?.type !== type) close();
    if (type !== "") {
      open = { start: open?.start ?? at, end, type };
      if (part === "single" || part === "end") close();
    }
    at = end + 1;
  }
  close();
  return marks;
}

const PARTS: ReadonlyMap<string, "begin" | "inside" | "end" | "single"> = new Map([
  ["B", "begin"],
  ["I", "inside"],
  ["M", "inside"],
  ["E", "end"],
  ["L", "end"],
  ["S", "single"],
  ["U", "single"],
]);

/** Parses a tag. `type` is empty outside of marks. */
function tagOf(tag: string): { readonly part: "begin" | "inside" | "end" | "single"; readonly type: string } {
  if (tag === "O" || tag === "o" || tag === "_") return { part: "inside", type: "" };
  const part = tag[1] === "-" ? PARTS.get(tag[0]?.toUpperCase() ?? "") : undefined;
  return part === undefined ? { part: "inside", type: tag } : { part, type: tag.slice(2) };
}
