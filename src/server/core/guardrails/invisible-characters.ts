/**
 * Invisible characters, which could hide a value by separating its characters. Source: Unicode, property
 * Default_Ignorable_Code_Point; guardrails reference, 2.7.
 */

/**
 * Members of a character class of expressions with the flag `u`: the Unicode property, the blank Braille pattern and annotation
 * characters.
 */
export const INVISIBLE = "\\p{Default_Ignorable_Code_Point}\\u2800\\ufff9-\\ufffb";

/** Control characters as members of a character class, without those that separate lines or words. */
export const CONTROLS = "\\0-\\x08\\x0e-\\x1f\\x7f-\\x84\\x86-\\x9f";

/**
 * Combining marks, such as an enclosing keycap, as members of a character class. A mark on a digit would hide it, so it is read
 * as part of the digit.
 */
export const MARKS = "\\p{M}";
