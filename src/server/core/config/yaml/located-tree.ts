/**
 * Parses YAML text to a tree of located values, and refuses features that a configuration does not need and an attacker could
 * use.
 *
 * YAML 1.2, core schema (`yes` and `on` are texts). Anchors and at most 100 aliases are read. Refused: merge keys, tags beyond
 * the core ones, directives, a second document, duplicate keys, keys that are not texts. JSON is YAML. When reading files of
 * other products, any number of aliases and merge keys is allowed. Values that aliases expand to count toward the limit on
 * values. Limits: 4 MiB of text, 64 levels, 100,000 values, 500,000 tokens. The nesting limit is enforced while tokens are read,
 * before any recursive code sees them, and duplicate keys are found by hash, since the library compares each key with every
 * other. Messages never contain the library's own text about the document, which may be a credential.
 */

import { Composer, type CST, isAlias, isMap, isScalar, isSeq, Lexer, LineCounter, type ParsedNode, Parser } from "yaml";
import { formatPath, type Path, type Problem, shown } from "../problem.ts";
import { type Aliases, aliasesIn } from "./aliases.ts";
import { syntaxMessage } from "./yaml-syntax-message.ts";

export const MAX_DOCUMENT_BYTES = 4 * 1024 * 1024;
const MAX_DEPTH = 64;
export const MAX_VALUES = 100_000;
/** Maximum number of aliases. A document that needs more is generated, and can be generated without aliases. */
const MAX_ALIASES = 100;
/** Maximum number of tokens. The library takes about ten microseconds per token, so reading any text ends within seconds. */
const MAX_TOKENS = 500_000;
/** A crash leaves NUL characters in a file that was not yet on disk, and UTF-16 without a mark has one in each letter. */
const NUL_MESSAGE =
  "not valid YAML: a NUL character, as a crash while writing or another encoding leaves it; write the file again as UTF-8";
/** Maximum depth of the parser's stack, which uses up to three entries per level of nesting. */
const MAX_STACK = 3 * MAX_DEPTH + 8;

/** Tree of values. Offsets are in UTF-16 units of the text. */
export type Tree =
  | { readonly kind: "map"; readonly at: number; readonly entries: ReadonlyMap<string, Entry> }
  | { readonly kind: "list"; readonly at: number; readonly items: readonly Tree[] }
  | {
      readonly kind: "scalar";
      readonly at: number;
      readonly value: string | number | boolean | null;
      /** Text of a number as written. */
      readonly written?: string;
    }
  /** Marks an error that is already reported, so that nothing more is reported here. */
  | { readonly kind: "refused"; readonly at: number };

export interface Entry {
  readonly keyAt: number;
  readonly value: Tree;
  /** True if the value has an anchor that an alias refers to. */
  readonly isShared?: true;
}

export interface Source {
  /** Name used in problems, normally the path as the operator wrote it. */
  readonly name: string;
  readonly text: string;
  /** True if it was written through the admin API, by a person who may not read this node's environment variables. */
  readonly isFromApi?: boolean;
}

/** Position, counted from 1, with columns in UTF-16 units. */
export interface Place {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

export interface Parsed {
  /** Parsed tree; `undefined` if the text is not YAML, or contains no document. */
  readonly tree: Tree | undefined;
  readonly isEmpty: boolean;
  /** Number of values in the tree. */
  readonly values: number;
  readonly problems: readonly Problem[];
  readonly placeOf: (offset: number) => Place;
  /** Names of the texts that were composed to one tree, in the order in which problems are sorted. */
  readonly files?: readonly string[];
  /** Maps a path of a composed tree to the path in its original text. */
  readonly writtenPath?: (path: Path) => Path;
}

const CORE_TAG = /^tag:yaml\.org,2002:(str|int|float|bool|null|map|seq)$/;

export function parseTree(source: Source, { aliases }: { readonly aliases?: "written out" } = {}): Parsed {
  const lines = new LineCounter();
  const placeOf = (offset: number): Place => {
    const { line, col } = lines.linePos(offset);
    return { file: source.name, line: Math.max(1, line), column: Math.max(1, col) };
  };
  const problems: Problem[] = [];
  const refuse = (offset: number, message: string, path: Path = []) => {
    problems.push({ severity: "error", ...placeOf(offset), path: formatPath(path), message });
  };
  const counter = { values: 0 };
  const parsed = (tree?: Tree, isEmpty = false): Parsed => ({
    tree,
    isEmpty,
    values: counter.values,
    problems,
    placeOf,
  });

  if (source.text.length > MAX_DOCUMENT_BYTES || Buffer.byteLength(source.text) > MAX_DOCUMENT_BYTES) {
    refuse(0, "the document is longer than 4 MiB");
    return parsed();
  }

  const tokens: CST.Token[] = [];
  const parser = new Parser(lines.addNewLine);
  lines.addNewLine(0);
  let count = 0;
  for (const lexeme of new Lexer().lex(source.text)) {
    if (++count > MAX_TOKENS) {
      refuse(parser.offset, `the document is too large: it has more than ${MAX_TOKENS} tokens`);
      return parsed();
    }
    for (const token of parser.next(lexeme)) tokens.push(token);
    if (parser.stack.length > MAX_STACK) {
      refuse(parser.offset, `nested deeper than ${MAX_DEPTH} levels`);
      return parsed();
    }
  }
  for (const token of parser.end()) tokens.push(token);
  const nul = source.text.indexOf("\0");
  if (nul >= 0) {
    refuse(nul, NUL_MESSAGE);
    return parsed();
  }

  const [document, second] = new Composer({ uniqueKeys: false, prettyErrors: false }).compose(tokens);
  if (document === undefined) return parsed(undefined, true);
  if (document.directives.yaml.explicit || Object.keys(document.directives.tags).length > 1) {
    refuse(0, "YAML directives (`%`) are not supported; remove the line");
  }
  for (const error of readable(document.errors)) refuse(error.pos[0], syntaxMessage(error, source.text));
  if (second !== undefined) refuse(second.range[0], "a second YAML document begins here; a file must contain only one");
  if (document.errors.length > 0) return parsed();
  if (document.contents === null) return parsed(undefined, true);

  const known = aliasesIn(document);
  const readsMerges = aliases === "written out";
  if (!readsMerges && known.count > MAX_ALIASES) {
    refuse(0, `the document contains more than ${MAX_ALIASES} aliases (\`*name\`); write the values out`);
    return parsed();
  }
  const tree = toTree(document.contents, [], { refuse, counter, aliases: known, readsMerges });
  if (counter.values > MAX_VALUES) {
    refuse(0, `the document contains more than ${MAX_VALUES} values`);
    return parsed();
  }
  const isEmpty = tree.kind === "scalar" && tree.value === null;
  return parsed(isEmpty ? undefined : tree, isEmpty);
}

interface Building {
  readonly refuse: (offset: number, message: string, path: Path) => void;
  readonly counter: { values: number };
  readonly aliases: Aliases;
  readonly readsMerges: boolean;
}

function toTree(node: ParsedNode | null, path: Path, building: Building): Tree {
  const at = node?.range[0] ?? 0;
  const refused = (message: string): Tree => {
    building.refuse(at, message, path);
    return { kind: "refused", at };
  };
  if (++building.counter.values > MAX_VALUES) return { kind: "refused", at };
  if (path.length > MAX_DEPTH) return refused(`nested deeper than ${MAX_DEPTH} levels`);
  if (node === null) return { kind: "scalar", at, value: null };
  if (isAlias(node)) {
    const target = building.aliases.targets.get(node);
    if (target === undefined) return refused("this alias names no anchor before it");
    return target.range[2] > at
      ? refused("this alias names the node that contains it")
      : toTree(target, path, building);
  }
  if (node.tag !== undefined && !CORE_TAG.test(node.tag)) return refused("YAML tags are not supported");

  if (isSeq(node)) {
    const items = node.items.map((item, index) => toTree(item, [...path, index], building));
    return { kind: "list", at, items };
  }
  if (isMap(node)) return { kind: "map", at, entries: toEntries(node.items, path, building) };
  return isScalar(node) ? toScalar(node.value, node.source, at, refused) : refused("not a configuration value");
}

function toEntries(
  pairs: readonly { readonly key: ParsedNode; readonly value: ParsedNode | null }[],
  path: Path,
  building: Building,
): ReadonlyMap<string, Entry> {
  const entries = new Map<string, Entry>();
  const merged: Tree[] = [];
  for (const { key, value } of pairs) {
    const keyAt = key.range[0];
    const name = keyText(key);
    const here = name === undefined ? path : [...path, name];
    if (name === undefined) building.refuse(keyAt, "a key must be a plain text", path);
    else if (name === "<<" && building.readsMerges) merged.push(toTree(value, path, building));
    else if (name === "<<") building.refuse(keyAt, "YAML merge keys (`<<`) are not supported", path);
    else if (name === "__proto__") building.refuse(keyAt, "`__proto__` cannot be a key", path);
    else if (/(?<!\$)\$\{/.test(name)) building.refuse(keyAt, "a reference is not allowed in a key", path);
    else if (entries.has(name)) building.refuse(keyAt, `the key ${shown(name)} appears here a second time`, here);
    else {
      const isShared = value !== null && building.aliases.shared.has(value);
      entries.set(name, { keyAt, value: toTree(value, here, building), ...(isShared && { isShared }) });
    }
  }
  for (const tree of merged) merge(entries, tree, (at, message) => building.refuse(at, message, path));
  return entries;
}

/** Merges maps for `<<`. Keys of the map itself win, then those of the map that is merged first (YAML 1.1, type `merge`). */
function merge(entries: Map<string, Entry>, tree: Tree, refuse: (at: number, message: string) => void): void {
  for (const from of tree.kind === "list" ? tree.items : [tree]) {
    if (from.kind === "map") {
      for (const [name, entry] of from.entries) if (!entries.has(name)) entries.set(name, entry);
    } else if (from.kind !== "refused") refuse(from.at, "the value of `<<` must be an object, or a list of objects");
  }
}

/** Returns the key as written, so that `200: ok` and `true: yes` have the keys "200" and "true". */
function keyText(key: ParsedNode | null): string | undefined {
  if (!isScalar(key) || key.anchor !== undefined || key.tag !== undefined) return undefined;
  return typeof key.value === "string" ? key.value : key.source || undefined;
}

function toScalar(value: unknown, written: string | undefined, at: number, refused: (message: string) => Tree): Tree {
  if (typeof value === "number") {
    if (!Number.isFinite(value)) return refused("a number must be finite");
    const isExact = !Number.isInteger(value) || Number.isSafeInteger(value) || /[.eE]/.test(written ?? "");
    return isExact
      ? { kind: "scalar", at, value, ...(written && { written }) }
      : refused("an integer above 2^53 cannot be represented exactly");
  }
  if (value === null || typeof value === "string" || typeof value === "boolean") return { kind: "scalar", at, value };
  return refused("not a configuration value");
}

/** Returns the first error and those that are independent of it; errors after a broken line are mostly consequences. */
function readable<E extends { readonly code: string }>(errors: readonly E[]): readonly E[] {
  const first = errors.findIndex(({ code }) => !INDEPENDENT.has(code));
  return errors.filter(({ code }, index) => index === first || INDEPENDENT.has(code)).slice(0, 20);
}

const INDEPENDENT: ReadonlySet<string> = new Set(["TAB_AS_INDENT", "BAD_DQ_ESCAPE"]);

/** Returns the deepest written part of `path`; `isExact` is true if that is all of it. */
export function find(tree: Tree, path: Path): { readonly entry: Entry; readonly isExact: boolean } {
  let entry: Entry = { keyAt: tree.at, value: tree };
  for (const step of path) {
    const { value }: Entry = entry;
    const next: Entry | undefined =
      value.kind === "map" ? value.entries.get(String(step)) : value.kind === "list" ? itemOf(value, step) : undefined;
    if (next === undefined) return { entry, isExact: false };
    entry = next;
  }
  return { entry, isExact: true };
}

function itemOf(list: Tree & { readonly kind: "list" }, step: string | number): Entry | undefined {
  const item = list.items[Number(step)];
  return item && { keyAt: item.at, value: item };
}
