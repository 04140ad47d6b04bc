/** Distinguishes generated secrets from words, examples and parts of longer texts. */

import type { MatchPosition } from "../../types.ts";

const COUNTS = new Uint16Array(128);

/** Returns the Shannon entropy in bits per character; non-ASCII characters count as one. */
export function bitsPerCharacter(value: string): number {
  if (value === "") return 0;
  COUNTS.fill(0);
  for (let at = 0; at < value.length; at++) COUNTS[Math.min(value.charCodeAt(at), 127)]! += 1;
  let sum = 0;
  for (const count of COUNTS) if (count > 1) sum += count * Math.log2(count);
  return Math.log2(value.length) - sum / value.length;
}

const PLACEHOLDER =
  /^[*x.\-_#?]+$|\*{3}|x{4}|\.{3}|\$\{|\$\(|\{\{|^\$[A-Za-z_]|^%[A-Za-z_]+%$|[<>]|change.?me|replace.?me|example|placeholder|redacted|dummy|insert.?your|your[-_. ]|not.?a.?real|^base(?:32|58|64)(?:url)?(?:string|encoded|value)?$|^(?:pass(?:word|wd)?|pw|pwd|secret|token|key|user|test|none|null|undefined|true|false)$/i;

/** Returns whether the value is a typical placeholder of documentation and templates. */
export function isPlaceholder(value: string): boolean {
  return PLACEHOLDER.test(value);
}

/**
 * Returns whether the match is not part of a longer word; `inside` matches characters of its kind. An escape of a JSON
 * text within another (`\n`) and one of a URL (`%3D`) end in a letter, but separate all the same.
 */
export function standsApart({ text, start, end }: MatchPosition, inside: RegExp): boolean {
  if (end < text.length && inside.test(text[end]!)) return false;
  return (
    start === 0 ||
    !inside.test(text[start - 1]!) ||
    /(?:%[0-9A-F]{2}|\\[nrt])$/i.test(text.slice(Math.max(0, start - 3), start))
  );
}
