/**
 * Finds top-level members of a JSON object in its bytes, without building values (RFC 8259).
 *
 * A proxied body is forwarded unchanged; routing needs only one or two members of it, and whether the text is JSON. Parsing a
 * megabyte for that would cost more than forwarding it. The scan checks the grammar (nesting, commas, numbers, literals) at the
 * speed of a byte search, since strings are skipped natively. It does not look for raw control characters or bad escapes inside
 * strings: they cannot change the names of members, and the upstream rejects them. A byte order mark before an answer is
 * skipped, as clients do; before a request it is a problem, since servers differ (RFC 8259, 8.1). A wanted name that occurs
 * twice is reported, since two readers may keep different values.
 *
 * Offsets are bytes into the scanned buffer.
 */
import { isUtf8 } from "node:buffer";
import { mayBeReadAs } from "../routes/name-readings.ts";

/** Maximum depth. Deeper nesting is refused: no request of either dialect comes near it, and parsers of upstreams may recurse. */
export const MAX_DEPTH = 512;

export interface Member {
  /** Offset of the name's opening quote. */
  readonly nameStart: number;
  readonly valueStart: number;
  /** Offset after the value's last byte. */
  readonly valueEnd: number;
}

export type JsonScan =
  /**
   * `mayLoseSpelling` is true if parsing might lose the spelling of a number or the order of names. `values` is the number of values at
   * all levels; each takes memory once the text is parsed.
   */
  | {
      readonly kind: "object";
      readonly members: readonly (Member | undefined)[];
      readonly mayLoseSpelling: boolean;
      readonly values: number;
    }
  | { readonly kind: "problem"; readonly message: string };

const QUOTE = 0x22;
const MINUS = 0x2d;
const DOT = 0x2e;
const ZERO = 0x30;
const BACKSLASH = 0x5c;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const COMMA = 0x2c;
const COLON = 0x3a;
const SPACE = 0x20;
const LAST_PRINTABLE = 0x7e;
const LAST_ASCII = 0x7f;

/**
 * Number of bytes of a string examined one by one before the native search takes over. One native call costs about as much as
 * 40 bytes.
 */
const NEAR_BYTES = 48;

const LITERALS: ReadonlyMap<number, Buffer> = new Map([
  [0x74, Buffer.from("true")],
  [0x66, Buffer.from("false")],
  [0x6e, Buffer.from("null")],
]);

class Malformed extends Error {}

/**
 * Scans one JSON object. The result has the position of each wanted name in order, or `undefined`. If `isRequest` is true, a
 * wanted name in different letter case is a problem, since some readers (Go's `encoding/json`) accept it as the name.
 */
export function scanObject(bytes: Buffer, wanted: readonly string[], isRequest = false): JsonScan {
  try {
    if (!isUtf8(bytes)) throw new Malformed("the body is not valid UTF-8");
    const members: (Member | undefined)[] = wanted.map(() => undefined);
    const seen: ScanTotals = { mayLoseSpelling: false, values: 0 };
    visitMembers(bytes, isRequest ? 0 : afterByteOrderMark(bytes), seen, (member) => {
      const at = wantedIndex(bytes, member, wanted, isRequest);
      if (at < 0) return;
      if (members[at] !== undefined) throw new Malformed(`the body names "${wanted[at]}" twice`);
      members[at] = member;
    });
    return { kind: "object", members, mayLoseSpelling: seen.mayLoseSpelling, values: seen.values };
  } catch (error) {
    if (error instanceof Malformed) return { kind: "problem", message: error.message };
    throw error;
  }
}

/** Returns every top-level member, in order. `bytes` must be valid according to `scanObject`. */
export function membersOf(bytes: Buffer): readonly Member[] {
  const members: Member[] = [];
  visitMembers(bytes, afterByteOrderMark(bytes), { mayLoseSpelling: false, values: 0 }, (member) =>
    members.push(member),
  );
  return members;
}

/** Returns the member's decoded name. */
export function memberName(bytes: Buffer, member: Member): string {
  return JSON.parse(bytes.toString("utf8", member.nameStart, endOfString(bytes, member.nameStart))) as string;
}

/** Returns the member's parsed value. */
export function memberValue(bytes: Buffer, { valueStart, valueEnd }: Member): unknown {
  return isPlainString(bytes, valueStart, valueEnd)
    ? bytes.toString("latin1", valueStart + 1, valueEnd - 1)
    : JSON.parse(bytes.toString("utf8", valueStart, valueEnd));
}

/** Maximum length of a string that is checked for being plain: model names are shorter. */
const MAX_PLAIN_BYTES = 128;

/** Returns whether the value is a short string of printable ASCII without escapes, which is its own text. */
function isPlainString(bytes: Buffer, start: number, end: number): boolean {
  if (bytes[start] !== QUOTE || end - start > MAX_PLAIN_BYTES) return false;
  for (let at = start + 1; at < end - 1; at++) {
    const byte = bytes[at] as number;
    if (byte < SPACE || byte > LAST_PRINTABLE || byte === BACKSLASH) return false;
  }
  return true;
}

/** Results that the scan collects. */
interface ScanTotals {
  mayLoseSpelling: boolean;
  values: number;
}

/** Returns the offset of the text, after its byte order mark if it has one. */
function afterByteOrderMark(bytes: Buffer): number {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
}

/** Returns why the text at `at` is not an object. */
function notObjectMessage(bytes: Buffer, at: number): string {
  if (at >= bytes.length) return "the body is empty";
  return at < afterByteOrderMark(bytes) ? "the body begins with a byte order mark" : "the body is not a JSON object";
}

function visitMembers(bytes: Buffer, start: number, seen: ScanTotals, visit: (member: Member) => void): void {
  let at = skipSpace(bytes, start);
  if (bytes[at] !== OPEN_OBJECT) throw new Malformed(notObjectMessage(bytes, at));
  at = skipSpace(bytes, at + 1);
  if (bytes[at] === CLOSE_OBJECT) {
    expectEnd(bytes, at + 1);
    return;
  }
  for (;;) {
    const nameStart = at;
    const valueStart = skipName(bytes, at, seen);
    const valueEnd = endOfValue(bytes, valueStart, seen);
    visit({ nameStart, valueStart, valueEnd });
    at = skipSpace(bytes, valueEnd);
    if (bytes[at] === CLOSE_OBJECT) {
      expectEnd(bytes, at + 1);
      return;
    }
    if (bytes[at] !== COMMA) throw malformedAt(bytes, at);
    at = skipSpace(bytes, at + 1);
  }
}

function wantedIndex(bytes: Buffer, member: Member, wanted: readonly string[], isRequest: boolean): number {
  const start = member.nameStart + 1;
  let end = start;
  while (bytes[end] !== QUOTE) {
    if (bytes[end] === BACKSLASH || (isRequest && (bytes[end] as number) > LAST_ASCII)) {
      return escapedNameIndex(escapedName(bytes, member), wanted, isRequest);
    }
    end++;
  }
  for (let i = 0; i < wanted.length; i++) {
    const name = wanted[i] as string;
    if (name.length !== end - start || !matchesInAnyCase(bytes, start, name)) continue;
    if (matchesExactly(bytes, start, name)) return i;
    if (isRequest) throw wrongCase(name);
  }
  return -1;
}

function escapedNameIndex(written: string, wanted: readonly string[], isRequest: boolean): number {
  const at = wanted.indexOf(written);
  const alike = at < 0 && isRequest ? wanted.find((name) => mayBeReadAs(written, name)) : undefined;
  if (alike !== undefined) throw wrongCase(alike);
  return at;
}

const wrongCase = (name: string): Malformed =>
  new Malformed(`the body has a member that differs from "${name}" only in case`);

/** Returns whether the name is `name` in any letter case. `name` is ASCII in lower case. */
function matchesInAnyCase(bytes: Buffer, start: number, name: string): boolean {
  for (let i = 0; i < name.length; i++) {
    const byte = bytes[start + i] as number;
    const code = name.charCodeAt(i);
    if (byte !== code && (byte < 0x41 || byte > 0x5a || byte + 0x20 !== code)) return false;
  }
  return true;
}

function matchesExactly(bytes: Buffer, start: number, name: string): boolean {
  for (let i = 0; i < name.length; i++) if (bytes[start + i] !== name.charCodeAt(i)) return false;
  return true;
}

function escapedName(bytes: Buffer, member: Member): string {
  try {
    return memberName(bytes, member);
  } catch {
    throw malformedAt(bytes, member.nameStart);
  }
}

/**
 * Stack of one byte per open container, so that hostile nesting cannot overflow the call stack. Scans share it, because a new
 * one for each value would cost more than the scan of a short body.
 */
const closers = new Uint8Array(MAX_DEPTH);

/** Returns the offset after the value that starts at `start`. */
function endOfValue(bytes: Buffer, start: number, seen: ScanTotals): number {
  const first = bytes[start];
  if (first !== OPEN_OBJECT && first !== OPEN_ARRAY) {
    seen.values++;
    return endOfScalar(bytes, start, seen);
  }
  let depth = 0;
  let at = start;
  for (;;) {
    const byte = bytes[at];
    seen.values++;
    if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
      if (depth === MAX_DEPTH) throw new Malformed(`the body is nested deeper than ${MAX_DEPTH} levels`);
      const closer = byte === OPEN_OBJECT ? CLOSE_OBJECT : CLOSE_ARRAY;
      closers[depth++] = closer;
      at = skipSpace(bytes, at + 1);
      if (bytes[at] !== closer) {
        if (closer === CLOSE_OBJECT) at = skipName(bytes, at, seen);
        continue;
      }
      at++;
      depth--;
    } else {
      at = endOfScalar(bytes, at, seen);
    }
    // After a value: close the containers that end here, until a comma leads to the next value.
    for (;;) {
      if (depth === 0) return at;
      at = skipSpace(bytes, at);
      const closer = closers[depth - 1];
      if (bytes[at] === closer) {
        at++;
        depth--;
        continue;
      }
      if (bytes[at] !== COMMA) throw malformedAt(bytes, at);
      at = skipSpace(bytes, at + 1);
      if (closer === CLOSE_OBJECT) at = skipName(bytes, at, seen);
      break;
    }
  }
}

function endOfScalar(bytes: Buffer, start: number, seen: ScanTotals): number {
  const first = bytes[start];
  if (first === QUOTE) return endOfString(bytes, start);
  if (first === undefined) throw malformedAt(bytes, start);
  const literal = LITERALS.get(first);
  if (literal === undefined) {
    const end = endOfNumber(bytes, start);
    if (!isPlainNumber(bytes, start, end)) seen.mayLoseSpelling = true;
    return end;
  }
  for (let i = 1; i < literal.length; i++) if (bytes[start + i] !== literal[i]) throw malformedAt(bytes, start + i);
  return start + literal.length;
}

function endOfString(bytes: Buffer, start: number): number {
  const end = stringEnd(bytes, start);
  if (end < 0) throw new Malformed("the body ends inside a string");
  return end;
}

/** Returns the offset after the closing quote of the string that opens at `start`, or -1. */
export function stringEnd(bytes: Buffer, start: number): number {
  let at = start + 1;
  for (;;) {
    const near = Math.min(at + NEAR_BYTES, bytes.length);
    while (at < near) {
      const byte = bytes[at];
      if (byte === QUOTE) return at + 1;
      at += byte === BACKSLASH ? 2 : 1;
    }
    const quote = bytes.indexOf(QUOTE, at);
    if (quote < 0) return -1;
    let backslashes = 0;
    while (quote - 1 - backslashes >= at && bytes[quote - 1 - backslashes] === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return quote + 1;
    at = quote + 1;
  }
}

/** Returns the offset after a number: int frac? exp? of RFC 8259 section 6. */
function endOfNumber(bytes: Buffer, start: number): number {
  let at = bytes[start] === 0x2d ? start + 1 : start;
  if (bytes[at] === 0x30) at++;
  else at = endOfDigits(bytes, at);
  if (bytes[at] === 0x2e) at = endOfDigits(bytes, at + 1);
  if (bytes[at] === 0x65 || bytes[at] === 0x45) {
    at++;
    if (bytes[at] === 0x2b || bytes[at] === 0x2d) at++;
    at = endOfDigits(bytes, at);
  }
  return at;
}

/** Maximum length of a number that a double represents exactly, so that it is written as it was read. */
const SAFE_LENGTH = 15;

/**
 * Returns whether the number is a common one that is certainly written as it was read: no exponent, no trailing or many leading
 * zeros.
 */
function isPlainNumber(bytes: Buffer, start: number, end: number): boolean {
  if (end - start > SAFE_LENGTH) return false;
  const first = bytes[start] === MINUS ? start + 1 : start;
  let point = first;
  while (isDigit(bytes[point])) point++;
  if (point === end) return first === start || bytes[first] !== ZERO;
  if (bytes[point] !== DOT || bytes[end - 1] === ZERO || (bytes[first] === ZERO && bytes[point + 1] === ZERO))
    return false;
  let at = point + 1;
  while (isDigit(bytes[at])) at++;
  return at === end;
}

function endOfDigits(bytes: Buffer, start: number): number {
  let at = start;
  while (isDigit(bytes[at])) at++;
  if (at === start) throw malformedAt(bytes, at);
  return at;
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39;
}

/** Skips a name. One that begins like an index may not keep its position, and an index may be written with escapes. */
function skipName(bytes: Buffer, at: number, seen: ScanTotals): number {
  if (bytes[at] !== QUOTE) throw malformedAt(bytes, at);
  const first = bytes[at + 1];
  if (first === BACKSLASH || isDigit(first)) seen.mayLoseSpelling = true;
  return skipColon(bytes, endOfString(bytes, at));
}

function skipColon(bytes: Buffer, start: number): number {
  const at = skipSpace(bytes, start);
  if (bytes[at] !== COLON) throw malformedAt(bytes, at);
  return skipSpace(bytes, at + 1);
}

export function skipSpace(bytes: Buffer, start: number): number {
  let at = start;
  for (;;) {
    const byte = bytes[at];
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return at;
    at++;
  }
}

function expectEnd(bytes: Buffer, start: number): void {
  const at = skipSpace(bytes, start);
  if (at !== bytes.length) throw malformedAt(bytes, at);
}

/** Returns the error for malformed JSON. It gives the position but never the content, which may be a prompt. */
function malformedAt(bytes: Buffer, at: number): Malformed {
  return new Malformed(
    at >= bytes.length ? "the body ends before its JSON does" : `the body is not JSON at byte ${at}`,
  );
}
