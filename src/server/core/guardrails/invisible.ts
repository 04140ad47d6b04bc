/**
 * Invisible characters, which could hide a value around them. Source: Unicode, property Default_Ignorable_Code_Point;
 * guardrails reference, 2.7.
 */

/** Members of a character class, for expressions with the flag `u`: the property, the blank Braille pattern, annotations. */
export const INVISIBLE = "\\p{Default_Ignorable_Code_Point}\\u2800\\ufff9-\\ufffb";

/** Control characters as members of a character class, without those that separate lines or words. */
export const CONTROLS = "\\0-\\x08\\x0e-\\x1f\\x7f-\\x84\\x86-\\x9f";

/** Combining marks, such as an enclosing keycap, as members of a character class: on a digit they hide it and belong to it. */
export const MARKS = "\\p{M}";
