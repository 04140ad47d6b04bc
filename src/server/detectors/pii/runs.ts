/** One pass over a view: runs of groups with single separators, and every window of a run that has a shape. */

import { type Leaf, LONGEST_GROUP, type ShapeNode, type ShapeTree } from "./shapes.ts";
import type { Proof } from "./types.ts";

/** A match of the pattern of a rule, proven or not; of one rule, start and proof the last call is the longest. */
export type Found = (rule: number, start: number, end: number, proof: Proof) => void;

const DIGIT = 1;
const LETTER = 2;
const SEPARATOR = 4;
const HALF = 31;
const UNDERSCORE = 0x5f;

/** Gives a search: linear in the text, since a group begins at most as many windows as the tree has nodes. */
export function runScanner(tree: ShapeTree): (text: string, found: Found) => void {
  if (tree.root.next.size === 0) return () => {};
  const kinds = kindsOf(tree.separators);
  return (text, found) => {
    const run = new Run(text, tree, found);
    for (let at = 0; at < text.length; ) {
      const unit = text.charCodeAt(at);
      if (unit > 0x7f || (kinds[unit]! & (DIGIT | LETTER)) === 0) {
        at += 1;
        continue;
      }
      const start = at;
      let seen = 0;
      for (; at < text.length; at++) {
        const next = text.charCodeAt(at);
        const kind = next > 0x7f ? 0 : kinds[next]! & (DIGIT | LETTER);
        if (kind === 0) break;
        seen |= kind;
      }
      const groups = at - start > LONGEST_GROUP ? NONE : groupsOf(tree, text, start, at, seen);
      if (groups.length === 0) run.close();
      else run.add(start, at, groups);
      const isJoined =
        at + 1 < text.length && separates(kinds, text.charCodeAt(at)) && isGroup(kinds, text.charCodeAt(at + 1));
      if (!isJoined) run.close();
      at += 1;
    }
    run.close();
  };
}

const NONE: readonly number[] = [];

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

/** Groups that follow each other with one separator between two, as long as each may be part of a shape. */
class Run {
  readonly #text: string;
  readonly #tree: ShapeTree;
  readonly #found: Found;
  readonly #starts: number[] = [];
  readonly #ends: number[] = [];
  readonly #groups: (readonly number[])[] = [];
  #valueFrom = -1;
  #valueTo = -1;
  #value = "";

  constructor(text: string, tree: ShapeTree, found: Found) {
    this.#text = text;
    this.#tree = tree;
    this.#found = found;
  }

  /** What begins no shape is not kept at the head of a run: most words of prose. */
  add(start: number, end: number, groups: readonly number[]): void {
    if (this.#starts.length === 0 && !this.#begins(groups)) return;
    this.#starts.push(start);
    this.#ends.push(end);
    this.#groups.push(groups);
  }

  close(): void {
    if (this.#starts.length === 0) return;
    for (let first = 0; first < this.#starts.length; first++) this.#walk(this.#tree.root, first, first);
    this.#starts.length = 0;
    this.#ends.length = 0;
    this.#groups.length = 0;
  }

  #begins(groups: readonly number[]): boolean {
    for (const group of groups) if (this.#tree.begins[group] === 1) return true;
    return false;
  }

  #walk(node: ShapeNode, first: number, at: number): void {
    for (const group of this.#groups[at]!) {
      const next = node.next.get(group);
      if (next === undefined) continue;
      if (next.leaves.length > 0) this.#take(next.leaves, first, at);
      if (next.next.size > 0 && at + 1 < this.#starts.length) this.#walk(next, first, at + 1);
    }
  }

  #take(leaves: readonly Leaf[], first: number, last: number): void {
    const start = this.#starts[first]!;
    const end = this.#ends[last]!;
    for (const { rule, pattern, separators } of leaves) {
      if (!this.#isEdged(start, end, separators)) continue;
      if (first !== last && !this.#isSeparated(first, last, separators, pattern.mixes === true)) continue;
      if (pattern.validate === undefined) {
        this.#found(rule, start, end, undefined);
        continue;
      }
      const proof = pattern.validate(this.#valueOf(start, end, first === last), this.#text.slice(start, end));
      this.#found(rule, start, end, proof);
    }
  }

  /** Word boundaries of ASCII: groups are whole, so only an underscore can join one to something. */
  #isEdged(start: number, end: number, separators: string): boolean {
    const isJoined =
      (start > 0 && this.#text.charCodeAt(start - 1) === UNDERSCORE) || this.#text.charCodeAt(end) === UNDERSCORE;
    return !isJoined || separators.includes("_");
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

function separates(kinds: Uint8Array, unit: number): boolean {
  return unit <= 0x7f && (kinds[unit]! & SEPARATOR) !== 0;
}

function isGroup(kinds: Uint8Array, unit: number): boolean {
  return unit <= 0x7f && (kinds[unit]! & (DIGIT | LETTER)) !== 0;
}
