/** Detector type `llm`: a model that gives a verdict over a whole segment. Spec: document 3, detector `llm`. */

import { choice, integer, list, object, required, withDefault } from "../../schema.ts";
import { filled } from "../terms.ts";
import { category, writableKinds } from "./kinds.ts";

export const judge = object("A model that judges whole segments.", {
  provider: required(filled("Name of the provider through which the judge is called.")),
  model: required(filled("Name of the model at that provider.")),
  labels: required(
    list(
      "Verdicts that may be given, by custom in upper case; another answer is a fault.",
      filled("A verdict that the model may give."),
      {
        minItems: 1,
        uniqueItems: true,
      },
    ),
  ),
  prompt: required(filled("What each label means; the form of the answer is added to it.")),
  category: withDefault(category("Namespace; rules read `<category>/<LABEL>`."), "injection"),
  format: withDefault(
    choice(
      "How question and answer are put: one JSON object, or the form of a family of guard models; `guard_codes` refuses `context`.",
      ["json", "guard_safety", "guard_codes"],
    ),
    "json",
  ),
  max_bytes: withDefault(
    integer("Text per call in bytes; longer segments are judged in overlapping windows.", { minimum: 256 }),
    16_384,
  ),
  max_tokens: withDefault(integer("Longest answer in tokens; an unfinished answer is a fault.", { minimum: 1 }), 256),
  concurrency: withDefault(integer("Calls in flight for one request.", { minimum: 1 }), 4),
  context: writableKinds("Kinds of segment that are shown beside the text; left out, none."),
});
