/** Texts about findings and decisions of guardrails, shared by all verbs that show them. */

import type { Rehearsal, Removed } from "../server/core/guardrails/index.ts";

export const REMOVED_WORDS: Readonly<Record<Removed["by"], string>> = {
  threshold: "below the detector's `threshold`",
  score_threshold: "below `score_threshold`",
  allow_list: "on the allow list",
  conflicts: "replaced by another finding",
  form: "within a placeholder or pseudonym",
  check: "its check digit or another check disproves it",
};

/** `<category>/<LABEL> 5..24`. */
export const placeWords = ({ type, start, end }: Rehearsal["findings"][number]): string => `${type} ${start}..${end}`;

/** Returns what found it: detector, recognizer and pattern. */
export const finderWords = ({ detector, recognizer, trace }: Rehearsal["findings"][number]): string =>
  [detector, recognizer, trace?.pattern ?? ""].filter((part) => part !== "").join("/");

/** How its score came to be; empty where nothing is known of it. */
export function scoreWords({ trace }: Rehearsal["findings"][number]): string {
  if (trace === null) return "";
  const { validated, context_word: word, score_base: base, score_context: context, agreement } = trace;
  return [
    base.toFixed(2),
    ...(validated === null ? [] : [validated ? "passes its check" : "fails its check"]),
    ...(word === null ? [] : [`+${context.toFixed(2)} after "${word}"`]),
    ...(agreement === 0 ? [] : [`+${agreement.toFixed(2)} found by another too`]),
  ].join(", ");
}

/** Detectors that did not read the texts, each with why. */
export const unaskedWords = ({ detectors }: Rehearsal): readonly string[] =>
  detectors.flatMap(({ name, in_force: isInForce, asked, kinds }) => {
    if (asked) return [];
    return [`${name}: ${isInForce ? `it reads ${kinds.join(", ")}` : "the profile leaves it out"}`];
  });
