/** Fallbacks of LiteLLM: the models that stand in for others. */

import type { ReaderInput } from "./deployment-draft.ts";
import { type Section, sectionOf, textOf } from "./foreign-source.ts";

export interface Fallback {
  readonly from: string;
  readonly to: readonly string[];
  readonly at: number;
  readonly path: Section["path"];
}

/** Reads `fallbacks: [{ a: [b, c] }]`. */
export function fallbackPairs(section: Section, key: string, reading: ReaderInput): readonly Fallback[] {
  const tree = section.tree(key);
  if (tree === undefined) return [];
  if (tree.kind !== "list") {
    section.addNote(key, "left out: expected a list of objects");
    return [];
  }
  return tree.items.flatMap((item, index) => {
    const path = [...section.path, key, index];
    if (item.kind !== "map") {
      reading.source.addNote(item.at, path, "left out: expected an object such as `{ model: [other] }`");
      return [];
    }
    const pairs = sectionOf(item, path, reading.source.tracker);
    return pairs.keys.map((from) => ({
      from,
      to: targetsOf(pairs, from),
      at: pairs.offsetOf(from),
      path: [...path, from],
    }));
  });
}

function targetsOf(pairs: Section, from: string): readonly string[] {
  const tree = pairs.tree(from);
  const items = tree?.kind === "list" ? tree.items : tree === undefined ? [] : [tree];
  return items.flatMap((item) => {
    const text = item.kind === "map" ? undefined : textOf(item);
    if (text === undefined) pairs.addNote(from, "left out in part: a fallback must be the name of a model");
    return text ?? [];
  });
}
