/**
 * Types of recognizers: table rows with optional checks. The scanner decides how texts are scanned.
 *
 * Patterns see the scan view of a text (guardrails reference, 2.7): digits of any script are ASCII, ignorable
 * characters are removed, and unusual hyphens and spaces are plain. Source: guardrails reference, 1.
 */
import type { Category } from "../../core/guardrails/index.ts";

/** Result of a check: true raises the score to 1, false rejects the match, and `undefined` keeps the pattern's score. */
export type Proof = boolean | undefined;

export interface Recognizer {
  /** Class name that `recognizers` uses to select it, such as `UsSsnRecognizer`. */
  readonly name: string;
  /** Entity type, such as `US_SSN`. A recognizer has one type; two types with the same check are two recognizers. */
  readonly entity: string;
  readonly category: Category;
  readonly patterns: readonly Pattern[];
  /** Words and phrases, in lower case, that raise the score if they precede a match. */
  readonly context: readonly string[];
}

export type Pattern = ShapePattern | TextPattern | SearchPattern;

/**
 * Pattern of groups of digits and letters with single separators between them. One pass over the text finds all such
 * patterns. A match has at least one digit, even if its shape requires none.
 */
export interface ShapePattern {
  readonly kind: "shape";
  readonly name: string;
  /** Score above 0 and at most 1, before proof and context. */
  readonly score: number;
  /**
   * Groups of each form: `dN` is N digits, `LN` is N ASCII letters, `xN` is N of either; `-` is a separator, and
   * adjacent groups have none: `d3-d2-d4`, `L2d6L1`, `x4-x4-x4`. Ranges are written out.
   */
  readonly shapes: readonly string[];
  /** Characters allowed as the separator at each `-`; space and hyphen by default. */
  readonly separators?: string;
  /**
   * True if the pattern must not match a part of something longer, that is, with one of its separators and another
   * group on either side.
   */
  readonly isWhole?: boolean;
  /** True if the separators of one match may differ. By default all are the same. */
  readonly mayMixSeparators?: boolean;
  /**
   * Checks a match. `value` is without separators, with letters in upper case. `written` is the text of the scan view,
   * from the first to the last character.
   */
  readonly validate?: ShapeCheck;
}

export interface ShapeCheck {
  (value: string, written: string): Proof;
  /** True if the check, like a pattern, defines which values are possible, and is not a check digit. */
  readonly isForm?: boolean;
}

/** A regular expression, for values without a shape. */
export interface TextPattern {
  readonly kind: "text";
  readonly name: string;
  readonly score: number;
  /**
   * Expression in RE2 syntax without lookaround and back references, with bounded repeats. It ignores letter case
   * unless `isCaseSensitive`; a dot matches line breaks, and anchors match at lines. The match is the group named
   * `value`, or the whole match without such a group.
   */
  readonly regex: string;
  readonly isCaseSensitive?: boolean;
  /**
   * Keywords in lower case, of which every match contains one; a text without any is not searched. Empty if there are
   * none.
   */
  readonly keywords: readonly string[];
  /**
   * Expression that is faster to search for: a text without a match of it has no match of the pattern either. Has no
   * flags `g` and `y`.
   */
  readonly prefilter?: RegExp;
  readonly validate?: (value: string, around: MatchPosition) => Proof;
}

/**
 * Search written as code, for values that neither shapes nor regular expressions describe well, such as telephone
 * numbers.
 */
export interface SearchPattern {
  readonly kind: "search";
  readonly name: string;
  readonly score: number;
  /** See `TextPattern`. */
  readonly keywords: readonly string[];
  /** Expression in RE2 syntax that contains every match. It determines how much streams hold back, and is never run. */
  readonly containingRegex: string;
  /**
   * Calls `found` for each match, ascending and disjoint, in time linear in the text, which is the scan view. `name`
   * replaces the pattern's own.
   */
  readonly search: (text: string, found: (start: number, end: number, proof: Proof, name?: string) => void) => void;
}

/** Position of a match; `text` is the scan view. */
export interface MatchPosition {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}
