/** Texts of the source as our documents hold them. */

import type { Section } from "./source.ts";

/** A text that is no reference here. */
export const literally = (text: string): string => text.replaceAll("${", () => "$${");

/** A name of ours from one of the source: no reference, no control character. */
export const labelOf = (text: string): string =>
  text
    .replace(/[\u0000-\u001f\u007f]+|\$(?=\{)/g, " ")
    .trim()
    .slice(0, 100);

/** As `labelOf`, of what goes into paths and headers. */
export const pathNameOf = (text: string): string => text.replace(/[^!-.0-~]+|\$(?=\{)/g, "-").slice(0, 100);

const PATTERN = /^([^*\u0000-\u001f\u007f]+\*?|\*)$/;
const MAX_MODEL_NAME = 512;

/** Names of models and prefixes that end in `*`; what is neither is told. */
export function patternsOf(section: Section, key: string): readonly string[] {
  const texts = section.texts(key);
  const usable = texts.filter((text) => text.length <= MAX_MODEL_NAME && PATTERN.test(text));
  if (usable.length < texts.length)
    section.tell(key, "left out in part: expected model names, or prefixes that end in `*`");
  return [...new Set(usable.map(literally))];
}
