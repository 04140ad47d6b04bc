/**
 * Reads and writes JSON with some parts kept exactly as written: a tool's schema or arguments keep the spelling of their
 * numbers and the order of their keys, which parsing alone would lose (a number above 2^53, `1.0`, keys that look like
 * indexes). Source: dialects reference, 4 and 8; RFC 8259, section 6.
 *
 * Values are always those of `JSON.parse`. If parsing may lose something of the text, the text is walked a second time
 * alongside the values when the first part is requested. Time is linear in the text, and depth is bounded. Repeated names in
 * one object are not detected: as everywhere, the last one is the value.
 */
import { MAX_DEPTH } from "./json-scan.ts";
import { tryParseJson } from "./json-values.ts";

/** Placeholder that the native writer outputs for a `Verbatim`. */
const PLACEHOLDER = "\u00ffverbatim";
const WRITTEN_PLACEHOLDER = JSON.stringify(PLACEHOLDER);

/** Texts of the `Verbatim` parts that the native writer reached in the current call, in order. */
let reachedTexts: string[] = [];

/** JSON text in place of a value. It is written unchanged, line breaks included. */
export class Verbatim {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  /** Called by `JSON.stringify` within `writeJson` only. */
  toJSON(): string {
    reachedTexts.push(this.text);
    return PLACEHOLDER;
  }
}

export interface JsonSource {
  /** Plain values, as `JSON.parse` returns them. */
  readonly value: unknown;
  /**
   * Returns a `Verbatim` of the part's text if parsing and writing it might change it, otherwise `part` itself. `part` is an
   * object or array of `value`, by identity.
   */
  exact(part: unknown): unknown;
}

/** Maximum number of levels that `scanObject` accepts; it counts the levels within the outermost object. */
const MAX_LEVELS = MAX_DEPTH + 1;

/** Maximum number of digits of an integer that is written as it was read. */
const SAFE_DIGITS = 15;

/** Number of characters of a string examined one by one before the native search takes over. */
const NEAR_CHARACTERS = 24;

const TAB = 0x09;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const SPACE = 0x20;
const QUOTE = 0x22;
const PLUS = 0x2b;
const COMMA = 0x2c;
const MINUS = 0x2d;
const DOT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const COLON = 0x3a;
const CAPITAL_E = 0x45;
const OPEN_ARRAY = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_ARRAY = 0x5d;
const SMALL_E = 0x65;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/**
 * Parses JSON. Throws `SyntaxError`, which never quotes the text, if it is not JSON or is nested too deep. `isLossless` is true if
 * `scanObject` found that parsing the text loses nothing and that it is not too deep.
 */
export function readJson(text: string, isLossless = false): JsonSource {
  const value = tryParseJson(text);
  if (value === undefined) throw new SyntaxError("the text is not JSON");
  return { value, exact: isLossless ? identity : createVerbatimOf(text, value) };
}

/**
 * Returns the `exact` function for a text that was already parsed to `value`. Throws `SyntaxError` if the text is nested too
 * deep.
 */
export function createVerbatimOf(text: string, value: unknown): JsonSource["exact"] {
  if (!mayLoseSpelling(text)) return identity;
  let parts: ReadonlyMap<unknown, Verbatim> | undefined;
  return (part) => {
    parts ??= partsOf(text, value);
    return parts.get(part) ?? part;
  };
}

const identity: JsonSource["exact"] = (part) => part;

/**
 * Returns the JSON text of `value`, in which any part may be a `Verbatim`. `undefined` is left out of objects and written as
 * null elsewhere.
 *
 * The native writer, ten times as fast as any other, writes a mark for each `Verbatim`, and the mark is then replaced with its
 * text. If there are more marks than parts, some come from the client, and only the project's own writer can tell which.
 */
export function writeJson(value: unknown): string {
  reachedTexts = [];
  const marked = JSON.stringify(value) ?? "null";
  const texts = reachedTexts;
  if (texts.length === 0) return marked;
  reachedTexts = [];
  const pieces = marked.split(WRITTEN_PLACEHOLDER);
  if (pieces.length !== texts.length + 1) return writeRecursively(value);
  let text = pieces[0] ?? "";
  for (let at = 0; at < texts.length; at++) text += `${texts[at]}${pieces[at + 1]}`;
  return text;
}

function writeRecursively(value: unknown): string {
  if (value instanceof Verbatim) return value.text;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  if (Array.isArray(value)) return `[${value.map(writeRecursively).join(",")}]`;
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${writeRecursively(member)}`).join(",")}}`;
}

/** Returns the JSON text of a part that `exact` returned; it contains no `Verbatim` within. */
export function jsonText(part: unknown): string {
  return part instanceof Verbatim ? part.text : (JSON.stringify(part) ?? "null");
}

/**
 * Returns whether the text may contain a number or an order of names that parsing does not keep. A false positive only costs
 * time: a name that begins like an index is treated as one. Throws `SyntaxError` if the text is nested too deep.
 */
function mayLoseSpelling(text: string): boolean {
  let loses = false;
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      const end = stringEnd(text, at);
      loses ||= mayBeIndex(text.charCodeAt(at + 1)) && text.charCodeAt(skipSpace(text, end)) === COLON;
      at = end - 1;
    } else if (code === OPEN_OBJECT || code === OPEN_ARRAY) {
      if (++depth > MAX_LEVELS) throw new SyntaxError(`the text is nested deeper than ${MAX_LEVELS} levels`);
    } else if (code === CLOSE_OBJECT || code === CLOSE_ARRAY) {
      depth--;
    } else if (!loses && (code === MINUS || isDigit(code))) {
      const end = numberEnd(text, at);
      loses = !keepsSpelling(text, at, end);
      at = end - 1;
    }
  }
  return loses;
}

/** Returns whether a name may be an index, by its first character; an index may be written with escapes. */
const mayBeIndex = (code: number): boolean => isDigit(code) || code === BACKSLASH;

/** Returns whether parsing and writing keeps the spelling of the number. */
function keepsSpelling(text: string, start: number, end: number): boolean {
  let at = text.charCodeAt(start) === MINUS ? start + 1 : start;
  const isPlain = end - at <= SAFE_DIGITS && (at === start || text.charCodeAt(at) !== ZERO);
  while (at < end && isDigit(text.charCodeAt(at))) at++;
  if (isPlain && at === end) return true;
  const written = text.slice(start, end);
  return String(Number(written)) === written;
}

/** Returns the text of every object and array of `value`. If a name occurs twice, the last text wins. */
function partsOf(text: string, value: unknown): ReadonlyMap<unknown, Verbatim> {
  const parts = new Map<unknown, Verbatim>();

  /** Returns the offset after the value at `start`. `parsed` is its parsed value, unless the same name occurs again. */
  function walk(start: number, parsed: unknown): number {
    const code = text.charCodeAt(start);
    if (code === QUOTE) return stringEnd(text, start);
    if (code !== OPEN_OBJECT && code !== OPEN_ARRAY) return scalarEnd(text, start);
    const end = code === OPEN_OBJECT ? walkMembers(start, parsed) : walkItems(start, parsed);
    if (typeof parsed === "object" && parsed !== null) parts.set(parsed, new Verbatim(text.slice(start, end)));
    return end;
  }

  function walkMembers(start: number, parsed: unknown): number {
    let at = skipSpace(text, start + 1);
    while (text.charCodeAt(at) !== CLOSE_OBJECT) {
      const nameEnd = stringEnd(text, at);
      const name = decodeString(text, at, nameEnd);
      // Move past the colon.
      at = skipSpace(text, skipSpace(text, nameEnd) + 1);
      at = skipComma(text, walk(at, memberOf(parsed, name)));
    }
    return at + 1;
  }

  function walkItems(start: number, parsed: unknown): number {
    const items: readonly unknown[] = Array.isArray(parsed) ? parsed : [];
    let at = skipSpace(text, start + 1);
    for (let i = 0; text.charCodeAt(at) !== CLOSE_ARRAY; i++) at = skipComma(text, walk(at, items[i]));
    return at + 1;
  }

  walk(skipSpace(text, 0), value);
  return parts;
}

/**
 * Returns the value's own member of that name, or `undefined`. An object that a later member of the same name replaced may
 * lack any member.
 */
function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
  return (value as Readonly<Record<string, unknown>>)[name];
}

export function decodeString(text: string, start: number, end: number): string {
  const name = text.slice(start + 1, end - 1);
  return name.includes("\\") ? (JSON.parse(text.slice(start, end)) as string) : name;
}

/** Returns the offset after the closing quote. This function, like those below, requires valid text. */
export function stringEnd(text: string, start: number): number {
  let at = start + 1;
  const near = at + NEAR_CHARACTERS;
  while (at < near) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at + 1;
    at += code === BACKSLASH ? 2 : 1;
  }
  for (;;) {
    const quote = text.indexOf('"', at);
    let first = quote;
    while (first > at && text.charCodeAt(first - 1) === BACKSLASH) first--;
    if ((quote - first) % 2 === 0) return quote + 1;
    at = quote + 1;
  }
}

/** Returns the offset after a number or a literal. */
export function scalarEnd(text: string, start: number): number {
  let at = start;
  while (isScalarChar(text.charCodeAt(at))) at++;
  return at;
}

const isScalarChar = (code: number): boolean => isNumberChar(code) || (code > CLOSE_ARRAY && code < OPEN_OBJECT);

function numberEnd(text: string, start: number): number {
  let at = start + 1;
  while (isNumberChar(text.charCodeAt(at))) at++;
  return at;
}

function isNumberChar(code: number): boolean {
  return isDigit(code) || code === DOT || code === SMALL_E || code === CAPITAL_E || code === PLUS || code === MINUS;
}

const isDigit = (code: number): boolean => code >= ZERO && code <= NINE;

export function skipComma(text: string, start: number): number {
  const at = skipSpace(text, start);
  return text.charCodeAt(at) === COMMA ? skipSpace(text, at + 1) : at;
}

export function skipSpace(text: string, start: number): number {
  let at = start;
  for (;;) {
    const code = text.charCodeAt(at);
    if (code !== SPACE && code !== LINE_FEED && code !== CARRIAGE_RETURN && code !== TAB) return at;
    at++;
  }
}
