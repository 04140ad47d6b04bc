/**
 * Inserts entries into lists of a YAML document as text: nothing of the document is removed or rewritten, so comments, quoting
 * and line endings stay. Lists and maps in block style get new lines; in flow style (`[a, b]`) the line with the end grows. The
 * caller parses the result, so an unexpected layout is detected and never loses a line.
 */

import { type Document, isMap, isPair, isSeq, type Node, parseDocument, type YAMLMap, type YAMLSeq } from "yaml";
import type { Path } from "../config/index.ts";

interface Entry {
  readonly value: unknown;
  /** Entry in block style, without indentation; each line ends with a newline. */
  readonly text: string;
}

/** Entries for the end of the list at `path`. The list and its parent maps are created if missing. */
export interface Appending {
  readonly path: Path;
  readonly entries: readonly Entry[];
}

interface Insertion {
  readonly at: number;
  readonly text: string;
}

type Collection = YAMLMap<unknown, unknown> | YAMLSeq<unknown>;

/**
 * Appends entries to lists, which must not lie within one another. `text` must be valid YAML. Returns `undefined` if a path is
 * not a list.
 */
export function append(text: string, appendings: readonly Appending[]): string | undefined {
  const document = parseDocument(text, { uniqueKeys: false, keepSourceTokens: true });
  const insertions = appendings.map((it) => insertionOf(document, text, it));
  let result = text;
  for (const insertion of insertions.toSorted((a, b) => (b?.at ?? 0) - (a?.at ?? 0))) {
    if (insertion === undefined) return undefined;
    result = result.slice(0, insertion.at) + insertion.text + result.slice(insertion.at);
  }
  return result;
}

/** Returns the entries of the list at `path` as written, each without indentation. */
export function itemTexts(document: Document, text: string, path: Path): readonly string[] {
  const list = document.getIn(path, true);
  if (!isSeq(list)) return [];
  return list.items.map((item) => {
    if (!isNode(item)) return "";
    const [start] = rangeOf(item);
    const column = start - lineStart(text, start);
    const lines = text
      .slice(start, lineEnd(text, endOf(item)))
      .trimEnd()
      .split(/\r?\n/);
    return `${lines.map((line, at) => (at === 0 ? line : line.slice(Math.min(column, blanks(line))))).join("\n")}\n`;
  });
}

const blanks = (line: string): number => line.length - line.trimStart().length;

function insertionOf(document: Document, text: string, { path, entries }: Appending): Insertion | undefined {
  const eol = /\r?\n/.exec(text)?.[0] ?? "\n";
  const root: unknown = document.contents;
  if (!isCollection(root)) {
    // The document is empty or has only comments.
    const lines = blockLines(path, entries);
    return { at: text.length, text: startOfLine(text, text.length, eol) + joined(lines, 0, eol) };
  }
  let node: Collection = root;
  let depth = 0;
  for (; depth < path.length; depth++) {
    const next: unknown = node.get(path[depth], true);
    if (next === undefined) break;
    if (!isCollection(next)) return undefined;
    node = next;
  }
  const missing = path.slice(depth);
  if (isSeq(node) !== (missing.length === 0)) return undefined;
  if (node.flow === true) return flowInsertion(text, node, flowText(missing, entries), eol);
  const column = columnOf(text, node);
  if (column === undefined) return undefined;
  const at = lineEnd(text, endOf(node));
  return { at, text: startOfLine(text, at, eol) + joined(blockLines(missing, entries), column, eol) };
}

/** Returns the newline that a last line without one needs first. */
const startOfLine = (text: string, at: number, eol: string): string =>
  at === text.length && text !== "" && !text.endsWith("\n") ? eol : "";

/** Returns the lines of the missing parent keys, then of the entries. */
function blockLines(missing: Path, entries: readonly Entry[]): readonly string[] {
  const [key, ...rest] = missing;
  if (key !== undefined) return [`${key}:`, ...blockLines(rest, entries).map((line) => indented(line, 2))];
  return entries.flatMap(({ text }) =>
    text
      .trimEnd()
      .split("\n")
      .map((line, at) => (at === 0 ? `- ${line}` : indented(line, 2))),
  );
}

const indented = (line: string, columns: number): string => (line === "" ? "" : " ".repeat(columns) + line);

const joined = (lines: readonly string[], column: number, eol: string): string =>
  lines.map((line) => indented(line, column) + eol).join("");

function flowText(missing: Path, entries: readonly Entry[]): string {
  const items = entries.map(({ value }) => flowValue(value)).join(", ");
  const [key, ...rest] = missing;
  if (key === undefined) return items;
  const inner = rest.reduceRight<string>((text, name) => `{ ${name}: ${text} }`, `[${items}]`);
  return `${key}: ${inner}`;
}

/** Formats a value in flow style. Texts are quoted as JSON, since an unquoted text can have a special meaning here. */
function flowValue(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(flowValue).join(", ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(([key, it]) => `${key}: ${flowValue(it)}`);
  return `{ ${members.join(", ")} }`;
}

/** Inserts `body` before the closing bracket, or on a new line if the bracket is alone on its line. */
function flowInsertion(text: string, node: Collection, body: string, eol: string): Insertion {
  const close = rangeOf(node)[1] - 1;
  const last = lastOf(node);
  if (last === undefined) return { at: close, text: body };
  const end = rangeOf(last)[1];
  const between = text.slice(end, close);
  const hasComma = between.replace(/#.*$/gm, "").includes(",");
  if (between.trim() === "" && !between.includes("\n")) return { at: end, text: `, ${body}` };
  const start = lineStart(text, close);
  if (start <= end || text.slice(start, close).trim() !== "") {
    return { at: close, text: `${hasComma ? " " : ", "}${body}` };
  }
  return { at: start, text: `${" ".repeat(close - start + 2)}${hasComma ? "" : ", "}${body}${eol}` };
}

/** Returns the column of a map's keys or a list's dashes. */
function columnOf(text: string, node: Collection): number | undefined {
  const token = node.srcToken;
  const starts =
    token?.type === "block-seq"
      ? token.items[0]?.start.find(({ type }) => type === "seq-item-ind")?.offset
      : token?.type === "block-map"
        ? token.items[0]?.key?.offset
        : undefined;
  return starts === undefined ? undefined : starts - lineStart(text, starts);
}

/** Returns the end of the last element, without comments after it. */
function endOf(node: Node): number {
  if (!isCollection(node) || node.flow === true) return rangeOf(node)[1];
  const last = lastOf(node);
  return last === undefined ? rangeOf(node)[1] : endOf(last);
}

function lastOf(node: Collection): Node | undefined {
  const last: unknown = node.items.at(-1);
  if (!isPair(last)) return isNode(last) ? last : undefined;
  if (isNode(last.value)) return last.value;
  return isNode(last.key) ? last.key : undefined;
}

const isCollection = (value: unknown): value is Collection => isMap(value) || isSeq(value);

const isNode = (value: unknown): value is Node => typeof value === "object" && value !== null && "range" in value;

/** Returns the range of a node. Every parsed node has one. */
const rangeOf = (node: Node): readonly [number, number] => {
  const [start = 0, end = start] = node.range ?? [];
  return [start, end];
};

const lineStart = (text: string, at: number): number => (at === 0 ? 0 : text.lastIndexOf("\n", at - 1) + 1);

/** Returns the start of the next line. A node that ends in a newline, such as a block scalar, ends there. */
function lineEnd(text: string, at: number): number {
  if (at > 0 && text[at - 1] === "\n") return at;
  const end = text.indexOf("\n", at);
  return end < 0 ? text.length : end + 1;
}
