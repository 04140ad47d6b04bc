/**
 * Tree of the shapes of all recognizers, so that one pass over a text serves all of them.
 *
 * A group of a text is a longest run of ASCII digits and letters. The groups of shapes that it matches (`d4`, `L2d6L1`,
 * `x4`) are looked up by its length and the places of its digits. A sequence of groups (window) is a path in the tree.
 */

import type { ShapePattern } from "./types.ts";

/** Maximum length of a group: two words of 31 places each. */
export const LONGEST_GROUP = 62;
const HALF = 31;

/** Maximum number of groups in one shape. */
const MAX_GROUPS = 16;

const DEFAULT_SEPARATORS = " -";

export interface Leaf {
  /** Number of the rule. */
  readonly rule: number;
  readonly pattern: ShapePattern;
  readonly separators: string;
}

export interface ShapeNode {
  readonly next: Map<number, ShapeNode>;
  readonly leaves: Leaf[];
  /** Separators that follow the group in at least one shape. */
  separators: string;
}

export interface ShapeTree {
  readonly root: ShapeNode;
  /** Separators that occur one, two or more groups before the first group with a digit of a shape; index 0 is for one group. */
  readonly beforeDigit: readonly string[];
  /** Maximum length of a group before that group. */
  readonly longestBeforeDigit: number;
  /** Every character that separates groups of some pattern. */
  readonly separators: string;
  /** Numbers of the groups that match a run of digits, by the run's length. */
  readonly ofDigits: readonly (readonly number[])[];
  readonly ofLetters: readonly (readonly number[])[];
  /**
   * Returns the numbers of the groups that match a run of digits and letters. `low` and `high` have a bit for the place
   * of each digit.
   */
  readonly ofBoth: (length: number, low: number, high: number) => readonly number[];
}

interface Group {
  readonly id: number;
  readonly length: number;
  /** Places that must be digits, and places that must be letters. */
  readonly digits: readonly [low: number, high: number];
  readonly letters: readonly [low: number, high: number];
}

/** Builds the tree. Throws on an invalid shape, which only a bug in our own tables can cause. */
export function shapeTree(rules: readonly { readonly rule: number; readonly pattern: ShapePattern }[]): ShapeTree {
  const groups = new Map<string, Group>();
  const root: ShapeNode = { next: new Map(), leaves: [], separators: "" };
  let separators = "";
  const beforeDigit: string[] = [];
  let longestBeforeDigit = 0;
  for (const { rule, pattern } of rules) {
    const leaf: Leaf = { rule, pattern, separators: pattern.separators ?? DEFAULT_SEPARATORS };
    separators += leaf.separators;
    for (const shape of pattern.shapes) {
      const parts = shape.split("-");
      if (parts.length > MAX_GROUPS) throw new Error(`the shape ${shape} has more than ${MAX_GROUPS} groups`);
      const withDigit = parts.findIndex((part) => part.includes("d"));
      const before = withDigit < 0 ? parts.length - 1 : withDigit;
      for (let each = 0; each < before; each++) {
        beforeDigit[each] = (beforeDigit[each] ?? "") + leaf.separators;
        longestBeforeDigit = Math.max(longestBeforeDigit, groupOf(parts[each]!, groups).length);
      }
      const node = parts.reduce((at, part, place) => {
        if (place > 0) at.separators += leaf.separators;
        return step(at, groupOf(part, groups).id);
      }, root);
      if (!node.leaves.some((other) => other.rule === rule)) node.leaves.push(leaf);
    }
  }
  const byLength = [...groups.values()];
  const fit = (length: number, low: number, high: number): readonly number[] =>
    byLength.filter((group) => group.length === length && fits(group, low, high)).map(({ id }) => id);
  const lengths = Array.from({ length: LONGEST_GROUP + 1 }, (_, length) => length);
  const candidates = lengths.map((length) => byLength.filter((group) => group.length === length));
  const none: readonly number[] = [];
  return {
    root,
    beforeDigit,
    longestBeforeDigit,
    separators: [...new Set(separators)].join(""),
    ofDigits: lengths.map((length) => fit(length, places(length, 0), places(length, 1))),
    ofLetters: lengths.map((length) => fit(length, 0, 0)),
    ofBoth: (length, low, high) => {
      const found = candidates[length]!.filter((group) => fits(group, low, high));
      return found.length === 0 ? none : found.map(({ id }) => id);
    },
  };
}

function step(node: ShapeNode, group: number): ShapeNode {
  const known = node.next.get(group);
  if (known !== undefined) return known;
  const made: ShapeNode = { next: new Map(), leaves: [], separators: "" };
  node.next.set(group, made);
  return made;
}

function fits({ digits, letters }: Group, low: number, high: number): boolean {
  return (
    (low & digits[0]) === digits[0] &&
    (high & digits[1]) === digits[1] &&
    (low & letters[0]) === 0 &&
    (high & letters[1]) === 0
  );
}

/** Returns the bit mask of the first `length` places, as far as they are in `word`. */
function places(length: number, word: 0 | 1): number {
  const here = Math.min(HALF, Math.max(0, length - word * HALF));
  return 2 ** here - 1;
}

function groupOf(text: string, known: Map<string, Group>): Group {
  const there = known.get(text);
  if (there !== undefined) return there;
  if (!/^([dLx][1-9]\d?)+$/.test(text)) throw new Error(`${text} is not a group of a shape`);
  const digits: [number, number] = [0, 0];
  const letters: [number, number] = [0, 0];
  let length = 0;
  for (const [, kind, count] of text.matchAll(/([dLx])(\d+)/g)) {
    const end = length + Number(count);
    if (end > LONGEST_GROUP) throw new Error(`the group ${text} is longer than ${LONGEST_GROUP}`);
    for (; length < end; length++) {
      const word = length < HALF ? 0 : 1;
      const bit = 1 << (length % HALF);
      if (kind === "d") digits[word] |= bit;
      if (kind === "L") letters[word] |= bit;
    }
  }
  const group = { id: known.size, length, digits, letters } satisfies Group;
  known.set(text, group);
  return group;
}
