/** Converts guardrails of Portkey that deny listed words: `default.contains` with the operator `none`. */

import type { Entry, ReaderInput } from "./deployment-draft.ts";
import { type Section, sectionOf } from "./foreign-source.ts";
import { denyRule, type Guards, REQUEST_KINDS, wordDetector } from "./word-and-entity-guardrails.ts";

const PLACES = [
  ["input_guardrails", REQUEST_KINDS],
  ["before_request_hooks", REQUEST_KINDS],
  ["output_guardrails", ["output"]],
  ["after_request_hooks", ["output"]],
] as const;

const OTHER = "left out: no counterpart; the detectors are pii, remote (Presidio), nlp, classify, embed and llm";

export function portkeyGuardrails({ source: { root, addNote, tracker } }: ReaderInput): Guards {
  const detectors: Entry[] = [];
  const rules: Entry[] = [];
  for (const [place, kinds] of PLACES) {
    const tree = root.tree(place);
    if (tree === undefined) continue;
    if (tree.kind !== "list") {
      root.addNote(place, "left out: expected a list");
      continue;
    }
    for (const [index, item] of tree.items.entries()) {
      const path = [place, index];
      if (item.kind !== "map") {
        addNote(item.at, path, "left out: only Portkey knows what this name means; add it by hand");
        continue;
      }
      for (const words of wordsOf(sectionOf(item, path, tracker))) {
        const name = `words ${detectors.length + 1}`;
        const entity = `LISTED_WORD_${detectors.length + 1}`;
        detectors.push(wordDetector(name, entity, words, kinds));
        rules.push(denyRule(name, name, [`pii/${entity}`]));
      }
    }
  }
  return { detectors, rules };
}

function wordsOf(guard: Section): readonly (readonly string[])[] {
  const denies = guard.flag("deny") === true;
  const checks = guard.sections("checks");
  const found = [
    ...checks.flatMap((check) => {
      const id = check.text("id");
      const parameters = check.section("parameters");
      check.noteUnread({}, "left out: no counterpart");
      return id === "default.contains" && parameters !== undefined ? [parameters] : unknown(check, "id");
    }),
    ...guard.keys
      .filter((key) => key.includes("."))
      .flatMap((key) => {
        const parameters = guard.section(key);
        return (key === "default.contains" || key === "contains") && parameters !== undefined
          ? [parameters]
          : unknown(guard, key);
      }),
  ];
  guard.ignore("type", "id", "name");
  guard.noteUnread({}, "left out: no counterpart");
  return found.flatMap((parameters) => {
    const words = parameters.texts("words").filter((word) => word.trim() !== "");
    if (parameters.text("operator") === "none" && denies && words.length > 0) return [[...new Set(words)]];
    parameters.addNote(
      "operator",
      "left out: only the operator `none` with `deny: true` can be imported, as a list of denied words",
    );
    return [];
  });
}

function unknown(section: Section, key: string): readonly Section[] {
  section.addNote(key, OTHER);
  return [];
}
