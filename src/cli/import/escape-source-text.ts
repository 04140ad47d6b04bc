/** Escapes texts of the source for our documents. */

import type { Section } from "./foreign-source.ts";

/** Escapes a text so that it is not read as a reference. */
export const escapeReferences = (text: string): string => text.replaceAll("${", () => "$${");

/** Returns a name without references and control characters. */
export const labelOf = (text: string): string =>
  text
    .replace(/[\u0000-\u001f\u007f]+|\$(?=\{)/g, " ")
    .trim()
    .slice(0, 100);

/** Returns a name that can be part of paths and headers. */
export const pathNameOf = (text: string): string => text.replace(/[^!-.0-~]+|\$(?=\{)/g, "-").slice(0, 100);

const PATTERN = /^([^*\u0000-\u001f\u007f]+\*?|\*)$/;
const MAX_MODEL_NAME = 512;

/** Returns model names and prefixes that end in `*`. Other texts get a note. */
export function patternsOf(section: Section, key: string): readonly string[] {
  const texts = section.texts(key);
  const usable = texts.filter((text) => text.length <= MAX_MODEL_NAME && PATTERN.test(text));
  if (usable.length < texts.length)
    section.addNote(key, "left out in part: expected model names, or prefixes that end in `*`");
  return [...new Set(usable.map(escapeReferences))];
}
