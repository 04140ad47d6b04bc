/**
 * What a recognizer is: a table row and, where there is one, a check. How texts are gone through is the scanner's.
 *
 * Source: guardrails reference, 1. Patterns see the scan view of a text (guardrails reference, 2.7): digits of any script
 * are ASCII there, ignorable characters are gone, exotic hyphens and spaces are plain.
 */
import type { Category } from "../../core/guardrails/index.ts";

/** True: the score becomes 1; false: it was no match; undefined: the pattern's score stands. */
export type Proof = boolean | undefined;

export interface Recognizer {
  /** The class name by which `recognizers` selects it: `UsSsnRecognizer`. */
  readonly name: string;
  /** `US_SSN`. A recognizer finds one type; two types with one check are two recognizers. */
  readonly entity: string;
  readonly category: Category;
  readonly patterns: readonly Pattern[];
  /** Words and phrases in lower case that raise the score when they stand before a match. */
  readonly context: readonly string[];
}

export type Pattern = ShapePattern | TextPattern | SearchPattern;

/**
 * Groups of digits and letters with single separators between them, found by one pass over the text that all such patterns
 * share, and told apart by shape. A match has at least one digit, also where its shape would let it have none.
 */
export interface ShapePattern {
  readonly kind: "shape";
  readonly name: string;
  /** Above 0 and at most 1, before proof and context. */
  readonly score: number;
  /**
   * For each way of writing it, the groups: `dN` N digits, `LN` N ASCII letters, `xN` N of either, joined by `-` where one
   * separator stands and by nothing where none does: `d3-d2-d4`, `L2d6L1`, `x4-x4-x4`. Ranges are written out.
   */
  readonly shapes: readonly string[];
  /** Characters of which one may stand at each `-`; left out: space and hyphen. */
  readonly separators?: string;
  /** One of its separators with a digit or letter on either side makes it a part of something longer, and no match. */
  readonly isWhole?: boolean;
  /** The separators of one match may differ; left out: all are the same. */
  readonly mixes?: boolean;
  /**
   * `value`: without separators, letters in upper case. `written`: as the scan view has it, from the first to the last
   * character.
   */
  readonly validate?: ShapeCheck;
}

export interface ShapeCheck {
  (value: string, written: string): Proof;
  /** It says which values there may be, as a pattern does, and is no check digit. */
  readonly isForm?: boolean;
}

/** A regular expression, for what has no shape. */
export interface TextPattern {
  readonly kind: "text";
  readonly name: string;
  readonly score: number;
  /**
   * RE2 syntax without lookaround and back references, every repeat bounded; letter case is ignored unless
   * `isCaseSensitive`; dot matches line breaks, anchors stand at lines. A group named `value` is the match, else all of it.
   */
  readonly regex: string;
  readonly isCaseSensitive?: boolean;
  /** In lower case: one of them stands in every match, so a text without any is not searched. Empty: nothing is known. */
  readonly keywords: readonly string[];
  /** A text without a match of this has none of the pattern's; quicker to look for, and without `g` and `y`. */
  readonly needs?: RegExp;
  readonly validate?: (value: string, around: Around) => Proof;
}

/** A search written as code, for what neither shapes nor regular expressions say well: telephone numbers. */
export interface SearchPattern {
  readonly kind: "search";
  readonly name: string;
  readonly score: number;
  /** As of a text pattern. */
  readonly keywords: readonly string[];
  /** RE2 syntax; every match lies within one of this: what streams hold back, and nothing that is run. */
  readonly within: string;
  /**
   * Calls `found` for each match, ascending and apart; in time linear in the text, which is the scan view. `name`: instead
   * of the pattern's own.
   */
  readonly search: (text: string, found: (start: number, end: number, proof: Proof, name?: string) => void) => void;
}

/** Where a match stands: `text` is the scan view. */
export interface Around {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}
