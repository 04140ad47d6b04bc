/** Finds values that look like a secret beside a word for one. Source: guardrails reference, 1.7. */

import type { MatchPosition, Proof, TextPattern } from "../../types.ts";
import { bitsPerCharacter, isPlaceholder } from "./text.ts";
import { hasForm } from "./token-recognizers.ts";

const WORDS = ["access", "auth", "api", "credential", "creds", "key", "passwd", "password", "secret", "token"];

export const GENERIC_SECRET: TextPattern = {
  kind: "text",
  name: "GenericSecret",
  score: 0.5,
  regex:
    `(?:${WORDS.join("|")})[\\w .-]{0,20}["'\\\\]{0,4}[ \\t]{0,3}(?:=>|:=|=|:|%3D)[ \\t]{0,3}["'\\\\\`]{0,4}` +
    "(?<value>[\\w.=+/~-]{10,150})",
  keywords: WORDS,
  validate: isMade,
};

/** Minimum number of changes between letters and digits. Names with numbers have fewer. */
const MIN_CHANGES = 2;

function isMade(value: string, { text, start, end }: MatchPosition): Proof {
  // The next character rejects code (a call, an index, a path, a type) and values cut off at the maximum length.
  if (/[\w(<[:/]/.test(text[end] ?? "")) return false;
  if (isPlaceholder(value) || hasForm(value)) return false;
  if (/^[./~]|\.(?:[cm]?[jt]sx?|json|ya?ml|pem|key|crt|py|go|md|html?|com|org|net|io)$/i.test(value)) return false;
  if (/^sha\d{1,3}-/.test(value) || /^[\d.+-]+$/.test(value)) return false;
  // AWS secret keys have their own recognizer.
  if (/^[A-Za-z0-9+/]{40}$/.test(value) && /aws|secret_?access/i.test(text.slice(Math.max(0, start - 60), start)))
    return false;
  // Dotted names are member access in code.
  if (/^[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+$/.test(value)) return false;
  const changes = value.match(/[A-Za-z]\d|\d[A-Za-z]/g)?.length ?? 0;
  if (changes < MIN_CHANGES || bitsPerCharacter(value) < 3.5) return false;
  return undefined;
}
