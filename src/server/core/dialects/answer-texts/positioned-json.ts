/**
 * Parses JSON text to a tree of positions, so that single strings in it can be replaced while every other character stays. A
 * name that occurs twice in an object gives two members, since readers differ in which one they use.
 */
import { MAX_DEPTH } from "../json/json-scan.ts";
import { decodeString, skipSpace } from "../json/json-source.ts";

/** Position of a value. `start` and `end` are UTF-16 offsets, `end` exclusive. A string includes its quotes. */
export type JsonNode =
  | { readonly kind: "string" | "scalar"; readonly start: number; readonly end: number }
  | { readonly kind: "object"; readonly start: number; readonly end: number; readonly members: readonly JsonMember[] }
  | { readonly kind: "array"; readonly start: number; readonly end: number; readonly items: readonly JsonNode[] };

export interface JsonMember {
  readonly name: string;
  readonly value: JsonNode;
}

export interface Splice {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/**
 * Returns the tree, or `undefined` if the text is not JSON, is nested deeper than a message may be, or has more than
 * `maxValues` values.
 */
export function parseJsonTree(text: string, maxValues = Number.POSITIVE_INFINITY): JsonNode | undefined {
  const reader = new JsonTreeParser(text, maxValues);
  try {
    return reader.parseDocument();
  } catch (error) {
    if (error === REJECTED) return undefined;
    throw error;
  }
}

/** Error for a text that is not JSON within the bounds. It is created once, since it has no data. */
const REJECTED = new Error("the text is not JSON within the bounds");

/** Number of characters of a string that are checked one by one before the native search takes over. */
const NEAR_CHARACTERS = 32;

/** Characters that a string must not contain unescaped, and the one that begins an escape. */
const UNPLAIN = /[\u0000-\u001f\\]/;
const ESCAPED = new Set(Array.from('"\\/bfnrt', (it) => it.charCodeAt(0)));
const FOUR_HEX_DIGITS = /[0-9A-Fa-f]{4}/y;
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;

const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_ARRAY = 0x5d;
const SMALL_F = 0x66;
const SMALL_N = 0x6e;
const SMALL_T = 0x74;
const SMALL_U = 0x75;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/**
 * Parser that accepts exactly what `JSON.parse` accepts (RFC 8259) and builds only positions. It reads the text once;
 * validating with `JSON.parse` first would take twice as long.
 */
class JsonTreeParser {
  readonly #text: string;
  #valuesLeft: number;
  #at: number;

  constructor(text: string, maxValues: number) {
    this.#text = text;
    this.#valuesLeft = maxValues;
    this.#at = skipSpace(text, 0);
  }

  parseDocument(): JsonNode {
    const value = this.#parseValue(0);
    if (skipSpace(this.#text, this.#at) !== this.#text.length) throw REJECTED;
    return value;
  }

  #parseValue(depth: number): JsonNode {
    if (--this.#valuesLeft < 0) throw REJECTED;
    const start = this.#at;
    const code = this.#text.charCodeAt(start);
    if (code === QUOTE) {
      this.#at = checkedStringEnd(this.#text, start);
      return { kind: "string", start, end: this.#at };
    }
    if (code !== OPEN_OBJECT && code !== OPEN_ARRAY) {
      this.#at = checkedScalarEnd(this.#text, start, code);
      return { kind: "scalar", start, end: this.#at };
    }
    if (depth >= MAX_DEPTH) throw REJECTED;
    this.#at = skipSpace(this.#text, start + 1);
    if (code === OPEN_OBJECT) {
      const members = this.#parseMembers(depth + 1);
      return { kind: "object", start, end: this.#at, members };
    }
    const items = this.#parseItems(depth + 1);
    return { kind: "array", start, end: this.#at, items };
  }

  #parseMembers(depth: number): JsonMember[] {
    const text = this.#text;
    const members: JsonMember[] = [];
    let isMore = !this.#skipCloser(CLOSE_OBJECT);
    while (isMore) {
      const start = this.#at;
      if (text.charCodeAt(start) !== QUOTE) throw REJECTED;
      const end = checkedStringEnd(text, start);
      const name = decodeString(text, start, end);
      this.#at = skipSpace(text, end);
      if (text.charCodeAt(this.#at) !== COLON) throw REJECTED;
      this.#at = skipSpace(text, this.#at + 1);
      members.push({ name, value: this.#parseValue(depth) });
      isMore = this.#advanceToNext(CLOSE_OBJECT);
    }
    return members;
  }

  #parseItems(depth: number): JsonNode[] {
    const items: JsonNode[] = [];
    let isMore = !this.#skipCloser(CLOSE_ARRAY);
    while (isMore) {
      items.push(this.#parseValue(depth));
      isMore = this.#advanceToNext(CLOSE_ARRAY);
    }
    return items;
  }

  /** Returns whether the container ends here, and moves past its end if it does. */
  #skipCloser(closer: number): boolean {
    if (this.#text.charCodeAt(this.#at) !== closer) return false;
    this.#at++;
    return true;
  }

  /** Moves from the end of a value past the comma to the next one, or past the end of the container. */
  #advanceToNext(closer: number): boolean {
    this.#at = skipSpace(this.#text, this.#at);
    if (this.#skipCloser(closer)) return false;
    if (this.#text.charCodeAt(this.#at) !== COMMA) throw REJECTED;
    this.#at = skipSpace(this.#text, this.#at + 1);
    return true;
  }
}

/** Returns the offset after the closing quote of a string. Throws if the string is not valid JSON. */
function checkedStringEnd(text: string, start: number): number {
  let at = start + 1;
  for (;;) {
    const near = at + NEAR_CHARACTERS;
    while (at < near) {
      const code = text.charCodeAt(at);
      if (code === QUOTE) return at + 1;
      if (code === BACKSLASH) at = checkedEscapeEnd(text, at);
      // The code is a control character, or NaN at the end of the text.
      else if (code >= SPACE) at++;
      else throw REJECTED;
    }
    const quote = text.indexOf('"', at);
    if (quote < 0) throw REJECTED;
    const unplain = text.slice(at, quote).search(UNPLAIN);
    if (unplain < 0) return quote + 1;
    at += unplain;
  }
}

function checkedEscapeEnd(text: string, start: number): number {
  const code = text.charCodeAt(start + 1);
  if (code === SMALL_U) {
    FOUR_HEX_DIGITS.lastIndex = start + 2;
    if (FOUR_HEX_DIGITS.test(text)) return start + 6;
  } else if (ESCAPED.has(code)) return start + 2;
  throw REJECTED;
}

/** Returns the offset after a number or a literal; `code` is its first character. Throws if it is not valid JSON. */
function checkedScalarEnd(text: string, start: number, code: number): number {
  const literal = code === SMALL_T ? "true" : code === SMALL_F ? "false" : code === SMALL_N ? "null" : undefined;
  if (literal !== undefined) {
    if (text.startsWith(literal, start)) return start + literal.length;
    throw REJECTED;
  }
  NUMBER.lastIndex = start;
  if (!NUMBER.test(text)) throw REJECTED;
  return NUMBER.lastIndex;
}

/** Maximum number of members that are compared directly; larger objects use a set. */
const FEW = 12;

/** Returns whether any object within has two members of one name. */
export function hasDuplicateNames(node: JsonNode): boolean {
  if (node.kind === "array") return node.items.some(hasDuplicateNames);
  if (node.kind !== "object") return false;
  const { members } = node;
  if (members.length > FEW) {
    if (new Set(members.map(({ name }) => name)).size < members.length) return true;
  } else {
    for (let at = 1; at < members.length; at++)
      for (let before = 0; before < at; before++) if (members[at]?.name === members[before]?.name) return true;
  }
  return members.some(({ value }) => hasDuplicateNames(value));
}

/** Returns the last member of that name, as `JSON.parse` does. */
export function memberOf(node: JsonNode | undefined, name: string): JsonNode | undefined {
  if (node?.kind !== "object") return undefined;
  const { members } = node;
  for (let at = members.length - 1; at >= 0; at--) if (members[at]?.name === name) return members[at]?.value;
  return undefined;
}

/** Returns the value of a string, or `undefined` for everything else. */
export function stringIn(text: string, node: JsonNode | undefined): string | undefined {
  return node?.kind === "string" ? decodeString(text, node.start, node.end) : undefined;
}

/** Returns the value of a whole number from 0, or `undefined` for everything else. */
export function indexIn(text: string, node: JsonNode | undefined): number | undefined {
  if (node?.kind !== "scalar") return undefined;
  const written = text.slice(node.start, node.end);
  return /^\d{1,12}$/.test(written) ? Number(written) : undefined;
}

/** Returns whether the value is `null` or absent. */
export function isNullOrAbsent(text: string, node: JsonNode | undefined): boolean {
  return node === undefined || (node.kind === "scalar" && text.startsWith("null", node.start));
}

/** Returns the text with the splices applied, or the text itself if there are none. Splices must be disjoint. */
export function applySplices(text: string, splices: readonly Splice[]): string {
  let made = "";
  let at = 0;
  for (const splice of splices.toSorted((one, other) => one.start - other.start)) {
    made += text.slice(at, splice.start) + splice.text;
    at = splice.end;
  }
  return at === 0 ? text : made + text.slice(at);
}
