/** Returns the texts of an object as pairs. Other values get a note. */

import type { Section } from "./source.ts";

export const textsIn = (section: Section): readonly (readonly [string, string])[] =>
  section.keys.flatMap((key) => {
    const text = section.text(key);
    return text === undefined || text === "" ? [] : [[key, text] as const];
  });
