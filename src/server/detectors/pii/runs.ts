/**
 * Scans a view in one pass, from digit to digit: finds runs of groups with single separators, and every sequence of
 * groups (window) that matches a shape.
 */

import { type Leaf, LONGEST_GROUP, type ShapeNode, type ShapeTree } from "./shape-patterns.ts";
import type { Proof } from "./types.ts";

/** Callback for a match of a rule's pattern, proven or not. For one rule, start and proof, the last call is the longest. */
type MatchListener = (rule: number, start: number, end: number, proof: Proof) => void;

const DIGIT = 1;
const LETTER = 2;
const SEPARATOR = 4;
const HALF = 31;
const UNDERSCORE = 0x5f;

/**
 * Returns a search that is linear in the text, since a group begins at most as many windows as the tree has nodes. A
 * window contains a digit, so prose is mostly only searched for the next digit.
 */
export function createRunScanner(tree: ShapeTree): (text: string, found: MatchListener) => void {
  if (tree.root.next.size === 0) return () => {};
  const kinds = kindsOf(tree.separators);
  const digit = /[0-9]/g;
  return (text, found) => {
    const run = new Run(text, kinds, tree, found);
    digit.lastIndex = 0;
    while (digit.test(text))
      digit.lastIndex = endOfUuid(text, digit.lastIndex - 1) ?? run.processWindowsAt(digit.lastIndex - 1);
  };
}

const NONE: readonly number[] = [];

/** Pattern of a UUID of RFC 9562 with at least one letter, so that five numbers with hyphens between them do not match. */
const UUID = /(?=[\d-]{0,35}[a-f])[\da-f]{8}-[\da-f]{4}-[1-8][\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}(?![\da-z_])/iy;

/**
 * Returns the end of the UUID whose first digit this is, in any group but the last. Its parts are not matched as
 * numbers.
 */
function endOfUuid(text: string, digit: number): number | undefined {
  let hyphen = digit + 1;
  while (hyphen < digit + 9 && isHex(text.charCodeAt(hyphen))) hyphen += 1;
  if (text[hyphen] !== "-") return undefined;
  for (const before of [8, 13, 18, 23]) {
    const start = hyphen - before;
    if (start < 0 || start > digit) continue;
    if (start > 0 && /[\da-z_]/i.test(text[start - 1]!)) continue;
    UUID.lastIndex = start;
    if (UUID.test(text)) return UUID.lastIndex;
  }
  return undefined;
}

function isHex(unit: number): boolean {
  return (unit >= 0x30 && unit <= 0x39) || ((unit | 0x20) >= 0x61 && (unit | 0x20) <= 0x66);
}

function groupsOf(tree: ShapeTree, text: string, start: number, end: number, seen: number): readonly number[] {
  const length = end - start;
  if (seen === LETTER) return tree.ofLetters[length]!;
  if (seen === DIGIT) return tree.ofDigits[length]!;
  let low = 0;
  let high = 0;
  for (let at = 0; at < length; at++) {
    if (text.charCodeAt(start + at) > 0x39) continue;
    if (at < HALF) low |= 1 << at;
    else high |= 1 << (at - HALF);
  }
  return tree.ofBoth(length, low, high);
}

/** Run of groups with one separator between each two. Groups are searched only as far as windows reach. */
class Run {
  readonly #text: string;
  readonly #kinds: Uint8Array;
  readonly #tree: ShapeTree;
  readonly #found: MatchListener;
  readonly #starts: number[] = [];
  readonly #ends: number[] = [];
  readonly #groups: (readonly number[])[] = [];
  /**
   * Number of groups of this run. Entries of the lists beyond it are from earlier runs, since overwriting is faster
   * than truncating.
   */
  #count = 0;
  /** Number of groups at which windows have begun. */
  #begunGroups = 0;
  #valueFrom = -1;
  #valueTo = -1;
  #value = "";

  constructor(text: string, kinds: Uint8Array, tree: ShapeTree, found: MatchListener) {
    this.#text = text;
    this.#kinds = kinds;
    this.#tree = tree;
    this.#found = found;
  }

  /** Processes the windows that begin at the group of a digit, or at one before it. Returns the end of the group. */
  processWindowsAt(digit: number): number {
    let first = this.#count - 1;
    while (first >= 0 && this.#starts[first]! > digit) first -= 1;
    if (first < 0 || this.#ends[first]! <= digit) first = this.#beginRun(digit);
    for (let each = this.#begunGroups; each <= first; each++) this.#walk(this.#tree.root, each, each);
    this.#begunGroups = first + 1;
    return this.#ends[first]!;
  }

  /** Begins a new run with the groups before the digit's group at which no window began, as many as may precede a digit. */
  #beginRun(digit: number): number {
    const behind = this.#begunGroups === 0 ? 0 : this.#ends[this.#begunGroups - 1]!;
    const { beforeDigit, longestBeforeDigit } = this.#tree;
    let start = this.#startOf(digit);
    let before = 0;
    for (; before < beforeDigit.length; before++) {
      const separator = start - 1;
      if (separator <= behind || !beforeDigit[before]!.includes(this.#text[separator]!)) break;
      const next = this.#startOf(separator);
      if (next === separator || separator - next > longestBeforeDigit) break;
      start = next;
    }
    this.#count = 0;
    this.#add(start);
    for (let each = 1; each <= before; each++) this.#ensureGroup(each);
    this.#begunGroups = 0;
    return before;
  }

  #startOf(at: number): number {
    let start = at;
    while (start > 0 && isGroup(this.#kinds, this.#text.charCodeAt(start - 1))) start -= 1;
    return start;
  }

  #add(start: number): void {
    const text = this.#text;
    let end = start;
    let seen = 0;
    for (; end < text.length; end++) {
      const unit = text.charCodeAt(end);
      const kind = unit > 0x7f ? 0 : this.#kinds[unit]! & (DIGIT | LETTER);
      if (kind === 0) break;
      seen |= kind;
    }
    const at = this.#count++;
    this.#starts[at] = start;
    this.#ends[at] = end;
    this.#groups[at] = end - start > LONGEST_GROUP ? NONE : groupsOf(this.#tree, text, start, end, seen);
  }

  /** Returns whether there is a group at `index`, after an existing one. */
  #ensureGroup(index: number): boolean {
    if (index < this.#count) return true;
    const separator = this.#ends[index - 1]!;
    if (!this.#isSingleSeparator(separator)) return false;
    this.#add(separator + 1);
    return true;
  }

  /** Returns whether one separator is between two groups. */
  #isSingleSeparator(separator: number): boolean {
    return (
      isSeparator(this.#kinds, this.#text.charCodeAt(separator)) &&
      isGroup(this.#kinds, this.#text.charCodeAt(separator - 1)) &&
      isGroup(this.#kinds, this.#text.charCodeAt(separator + 1))
    );
  }

  #walk(node: ShapeNode, first: number, at: number): void {
    for (const group of this.#groups[at]!) {
      const next = node.next.get(group);
      if (next === undefined) continue;
      if (next.leaves.length > 0) this.#reportMatches(next.leaves, first, at);
      if (next.separators.includes(this.#text[this.#ends[at]!]!) && this.#ensureGroup(at + 1))
        this.#walk(next, first, at + 1);
    }
  }

  #reportMatches(leaves: readonly Leaf[], first: number, last: number): void {
    const start = this.#starts[first]!;
    const end = this.#ends[last]!;
    for (const { rule, pattern, separators } of leaves) {
      if (!this.#hasWordBoundaries(start, end, separators)) continue;
      if (pattern.isWhole === true && this.#continuesBeyond(start, end, separators)) continue;
      if (first !== last && !this.#isSeparated(first, last, separators, pattern.mayMixSeparators === true)) continue;
      if (pattern.validate === undefined) {
        this.#found(rule, start, end, undefined);
        continue;
      }
      const proof = pattern.validate(this.#valueOf(start, end, first === last), this.#text.slice(start, end));
      this.#found(rule, start, end, proof);
    }
  }

  /** Checks ASCII word boundaries: groups are whole, so only an underscore can join one to something. */
  #hasWordBoundaries(start: number, end: number, separators: string): boolean {
    const isJoined =
      (start > 0 && this.#text.charCodeAt(start - 1) === UNDERSCORE) || this.#text.charCodeAt(end) === UNDERSCORE;
    return !isJoined || separators.includes("_");
  }

  #continuesBeyond(start: number, end: number, separators: string): boolean {
    const isBetween = (at: number): boolean =>
      separators.includes(this.#text.charAt(at) || "?") &&
      isGroup(this.#kinds, this.#text.charCodeAt(at - 1)) &&
      isGroup(this.#kinds, this.#text.charCodeAt(at + 1));
    return isBetween(start - 1) || isBetween(end);
  }

  #isSeparated(first: number, last: number, separators: string, mixes: boolean): boolean {
    const one = this.#text[this.#starts[first + 1]! - 1]!;
    if (!separators.includes(one)) return false;
    for (let at = first + 2; at <= last; at++) {
      const other = this.#text[this.#starts[at]! - 1]!;
      if (other !== one && !(mixes && separators.includes(other))) return false;
    }
    return true;
  }

  #valueOf(start: number, end: number, isOne: boolean): string {
    if (this.#valueFrom === start && this.#valueTo === end) return this.#value;
    const written = this.#text.slice(start, end);
    this.#value = (isOne ? written : written.replace(/[^0-9A-Za-z]/g, "")).toUpperCase();
    this.#valueFrom = start;
    this.#valueTo = end;
    return this.#value;
  }
}

function kindsOf(separators: string): Uint8Array {
  const kinds = new Uint8Array(0x80);
  for (let unit = 0x30; unit <= 0x39; unit++) kinds[unit] = DIGIT;
  for (let unit = 0x41; unit <= 0x5a; unit++) kinds[unit] = kinds[unit + 0x20] = LETTER;
  for (const separator of separators) kinds[separator.charCodeAt(0)]! |= SEPARATOR;
  return kinds;
}

function isSeparator(kinds: Uint8Array, unit: number): boolean {
  return unit <= 0x7f && (kinds[unit]! & SEPARATOR) !== 0;
}

function isGroup(kinds: Uint8Array, unit: number): boolean {
  return unit <= 0x7f && (kinds[unit]! & (DIGIT | LETTER)) !== 0;
}
