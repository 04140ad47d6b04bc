/** An object of texts, as pairs; what is none is told of. */

import type { Section } from "./source.ts";

export const textsIn = (section: Section): readonly (readonly [string, string])[] =>
  section.keys.flatMap((key) => {
    const text = section.text(key);
    return text === undefined || text === "" ? [] : [[key, text] as const];
  });
