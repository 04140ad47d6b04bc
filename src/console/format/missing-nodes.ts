/** Text about nodes that are missing from an answer, so that missing data is not mistaken for zero. */

import { escapeControls } from "../../base/index.ts";
import type { Gaps } from "../model/data.ts";

/** Maximum number of named nodes; further ones are counted. */
const NAMED = 3;

/** Describes missing nodes for a title: `n3 HAS NOT ANSWERED, MORE ON n1`; empty if nothing is missing. */
export function gapText({ unanswered, cut, isOfOne = false }: Gaps): string {
  const has = unanswered.length === 1 ? "HAS" : "HAVE";
  return [
    ...(unanswered.length === 0 ? [] : [`${nodeNames(unanswered)} ${has} NOT ANSWERED`]),
    ...(cut.length === 0 ? [] : [`MORE ON ${nodeNames(cut)}`]),
    ...(isOfOne ? ["THIS NODE ONLY"] : []),
  ].join(", ");
}

/** Describes missing nodes in a sentence for a screen reader. */
export function gapSentence({ unanswered, cut, isOfOne = false }: Gaps): string {
  return [
    ...(unanswered.length === 0
      ? []
      : [`${nodeNames(unanswered)} ${unanswered.length === 1 ? "has" : "have"} not answered, and is missing here`]),
    ...(cut.length === 0 ? [] : [`there is more on ${nodeNames(cut)} than is shown`]),
    ...(isOfOne ? ["the connected node runs an earlier version and reports only itself"] : []),
  ].join("; ");
}

function nodeNames(ids: readonly string[]): string {
  const shown = ids.slice(0, NAMED).map(escapeControls).join(", ");
  return ids.length > NAMED ? `${shown} and ${ids.length - NAMED} more` : shown;
}
