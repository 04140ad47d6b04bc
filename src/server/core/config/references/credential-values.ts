/**
 * Rules for the values of credentials and headers. Source: design decisions, section 20, "Credential values"; RFC 9110, section
 * 5.5. Surrounding white space comes from files and pasted values and is not part of the value.
 */
import type { JsonSchema } from "../schema/schema.ts";

/** Returns true if the text is sent in a header or in a token request, so that it is trimmed and checked. */
export const isSentValue = (schema: JsonSchema): boolean =>
  schema["x-references"] === "header" || (schema["x-secret"] !== undefined && schema["x-secret"] !== "verbatim");

/** Trims only white space. Other invisible characters at the ends are refused, since it is unknown whether they are intended. */
export const trimmedValue = (text: string): string => text.trim();

const CONTROL = /[\u0000-\u001f\u007f-\u009f]/u;
/** Matches characters outside Latin-1, which headers cannot carry. */
const FOREIGN = /[^\u0000-\u00ff]/u;
/**
 * Matches characters that are often typed or pasted by mistake. Only these are named in messages; other parts of a credential
 * are not shown.
 */
const TYPOGRAPHY = /[\p{Cc}\p{Cf}\p{Z}\p{P}\p{M}]/u;

/** Describes what is wrong with a value, or returns `undefined`. Reveals only which control character or mark it contains. */
export function valueProblem(text: string, schema: JsonSchema): string | undefined {
  const allowsTab = schema["x-references"] === "header" && schema["x-secret"] === undefined;
  const found = CONTROL.exec(allowsTab ? text.replaceAll("\t", " ") : text)?.[0] ?? FOREIGN.exec(text)?.[0];
  if (found === undefined) return undefined;
  return `holds ${named(found)}, which is not allowed in a header; set the value again without it`;
}

/** Wrappings that copied values often have and credentials never do, each with what to do. */
const WRAPPINGS: readonly (readonly [pattern: RegExp, message: string])[] = [
  [/^(["'`]).*\1$/s, "is in quotes, which become part of the value; remove them"],
  [/^bearer /i, "begins with `Bearer`, which the gateway adds itself where it is needed; keep only what follows"],
  // The padding of Base64 ends a value.
  [
    /^(?:export\s+)?[A-Z][A-Z0-9_]{2,}=[^=]/,
    "begins with a variable name and `=`, as in an environment file; keep only the value",
  ],
];

/** Describes what is probably not part of a credential, or returns `undefined`. Reveals nothing of the value itself. */
export function credentialDoubt(text: string, schema: JsonSchema): string | undefined {
  // A header is written whole.
  if (!isSentValue(schema) || schema["x-references"] === "header") return undefined;
  return WRAPPINGS.find(([pattern]) => pattern.test(text))?.[1];
}

const NAMES: ReadonlyMap<string, string> = new Map([
  ["\t", "a tab"],
  ["\n", "a line break"],
  ["\r", "a line break"],
  ["\u200b", "a zero-width space (U+200B)"],
  ["\u2013", "an en dash (U+2013)"],
  ["\u2014", "an em dash (U+2014)"],
  ["\ufeff", "a byte order mark (U+FEFF)"],
]);

function named(character: string): string {
  const known = NAMES.get(character);
  if (known !== undefined) return known;
  if (!TYPOGRAPHY.test(character)) return "a character outside Latin-1";
  const code = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
  return `${CONTROL.test(character) ? "the control character" : "the character"} U+${code}`;
}
