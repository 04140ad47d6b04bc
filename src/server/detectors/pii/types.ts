/**
 * A recognizer: a table row and an optional check. The scanner decides how texts are scanned.
 *
 * Source: guardrails reference, 1. Patterns see the scan view of a text (guardrails reference, 2.7): digits of any script are
 * ASCII there, ignorable characters are removed, exotic hyphens and spaces are plain.
 */
import type { Category } from "../../core/guardrails/index.ts";

/** Result of a check. True raises the score to 1; false rejects the match; `undefined` keeps the pattern's score. */
export type Proof = boolean | undefined;

export interface Recognizer {
  /** Class name by which `recognizers` selects it: `UsSsnRecognizer`. */
  readonly name: string;
  /** Entity type, such as `US_SSN`. A recognizer finds one type; two types with one check are two recognizers. */
  readonly entity: string;
  readonly category: Category;
  readonly patterns: readonly Pattern[];
  /** Words and phrases in lower case that raise the score if they precede a match. */
  readonly context: readonly string[];
}

export type Pattern = ShapePattern | TextPattern | SearchPattern;

/**
 * Groups of digits and letters with single separators between them, found by one pass over the text that all such patterns
 * share, and distinguished by shape. A match has at least one digit, even if its shape allows none.
 */
export interface ShapePattern {
  readonly kind: "shape";
  readonly name: string;
  /** Score above 0 and at most 1, before proof and context. */
  readonly score: number;
  /**
   * Groups of each spelling: `dN` is N digits, `LN` is N ASCII letters, `xN` is N of either, joined by `-` for one separator
   * and by nothing for none: `d3-d2-d4`, `L2d6L1`, `x4-x4-x4`. Ranges are written out.
   */
  readonly shapes: readonly string[];
  /** Characters allowed as the separator at each `-`; space and hyphen by default. */
  readonly separators?: string;
  /**
   * True if the pattern does not match a part of something longer: one of its separators with a group on either side of the
   * match.
   */
  readonly isWhole?: boolean;
  /** True if the separators of one match may differ; by default all are the same. */
  readonly mixes?: boolean;
  /**
   * `value` is without separators, with letters in upper case. `written` is the text of the scan view, from the first to the
   * last character.
   */
  readonly validate?: ShapeCheck;
}

export interface ShapeCheck {
  (value: string, written: string): Proof;
  /** The check defines which values are possible, like a pattern, and is not a check digit. */
  readonly isForm?: boolean;
}

/** A regular expression, for values without a shape. */
export interface TextPattern {
  readonly kind: "text";
  readonly name: string;
  readonly score: number;
  /**
   * RE2 syntax without lookaround and back references, every repeat bounded; ignores letter case unless `isCaseSensitive`; dot
   * matches line breaks, and anchors match at lines. A group named `value` is the match, otherwise the whole match.
   */
  readonly regex: string;
  readonly isCaseSensitive?: boolean;
  /** Keywords in lower case: every match contains one, so a text without any is not searched. Empty if there are none. */
  readonly keywords: readonly string[];
  /** A text without a match of this has none of the pattern's; faster to search for. Without the flags `g` and `y`. */
  readonly needs?: RegExp;
  readonly validate?: (value: string, around: Around) => Proof;
}

/** A search written as code, for values that neither shapes nor regular expressions describe well: telephone numbers. */
export interface SearchPattern {
  readonly kind: "search";
  readonly name: string;
  readonly score: number;
  /** See `TextPattern`. */
  readonly keywords: readonly string[];
  /** RE2 syntax; every match is within a match of this. It determines how much streams hold back, and is not executed. */
  readonly within: string;
  /**
   * Calls `found` for each match, ascending and disjoint; in time linear in the text, which is the scan view. `name` replaces
   * the pattern's own.
   */
  readonly search: (text: string, found: (start: number, end: number, proof: Proof, name?: string) => void) => void;
}

/** Position of a match; `text` is the scan view. */
export interface Around {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}
