/** Texts about findings and decisions of guardrails, shared by all verbs that show them. */

import type { DiscardedFinding, Rehearsal } from "../server/core/guardrails/index.ts";

export const REMOVED_WORDS: Readonly<Record<DiscardedFinding["by"], string>> = {
  threshold: "below the detector's `threshold`",
  score_threshold: "below `score_threshold`",
  allow_list: "on the allow list",
  conflicts: "replaced by another finding",
  form: "within a placeholder or pseudonym",
  check: "its check digit or another check disproves it",
};

/** Returns the type and byte range of a finding, such as `<category>/<LABEL> 5..24`. */
export const placeText = ({ type, start, end }: Rehearsal["findings"][number]): string => `${type} ${start}..${end}`;

/** Returns the source of a finding: detector, recognizer and pattern. */
export const finderText = ({ detector, recognizer, trace }: Rehearsal["findings"][number]): string =>
  [detector, recognizer, trace?.pattern ?? ""].filter((part) => part !== "").join("/");

/** Explains how the score was computed; empty if the finding has no trace. */
export function scoreText({ trace }: Rehearsal["findings"][number]): string {
  if (trace === null) return "";
  const { validated, context_word: word, score_base: base, score_context: context, agreement } = trace;
  return [
    base.toFixed(2),
    ...(validated === null ? [] : [validated ? "passes its check" : "fails its check"]),
    ...(word === null ? [] : [`+${context.toFixed(2)} after "${word}"`]),
    ...(agreement === 0 ? [] : [`+${agreement.toFixed(2)} found by another too`]),
  ].join(", ");
}

/** Returns one line per detector that did not read the texts, with the reason. */
export const unreadTexts = ({ detectors }: Rehearsal): readonly string[] =>
  detectors.flatMap(({ name, in_force: isInForce, asked, kinds }) => {
    if (asked) return [];
    return [`${name}: ${isInForce ? `it reads ${kinds.join(", ")}` : "the profile leaves it out"}`];
  });
