/** `guardrails.detectors[]`: the ensemble. Spec: document 3, `guardrails.detectors[]` (common keys). */

import {
  choice,
  flag,
  integer,
  list,
  object,
  positiveDuration,
  required,
  type TypeOf,
  text,
  withDefault,
} from "../../schema.ts";
import { faultAnswer, filled, label, score } from "../terms.ts";
import { analyzer } from "./analyzer.ts";
import { sequenceClassifier, tokenClassifier, topicEmbedder } from "./classifiers.ts";
import { judge } from "./judge.ts";
import { entityTypes, segmentKinds } from "./kinds.ts";
import { customRecognizers } from "./recognizers.ts";

export const DETECTOR_TYPES = ["pii", "remote", "nlp", "llm", "classify", "embed"] as const;

export type DetectorType = (typeof DETECTOR_TYPES)[number];

const detector = object("A member of the ensemble.", {
  type: required(choice("Which implementation.", DETECTOR_TYPES)),
  name: label("Tells two detectors of one type apart; left out, the type."),
  entities: entityTypes("Entity types that are reported; left out, all. The main lever on cost."),
  recognizers: list("Recognizers that are run, by name (`pii`); left out, all.", filled("Name of a recognizer."), {
    uniqueItems: true,
  }),
  custom_recognizers: customRecognizers,
  phone_regions: list(
    "Regions whose national telephone formats are read; each costs a call per long run of digits.",
    text("Region, ISO 3166 alpha-2.", { pattern: "^[A-Z]{2}$", examples: ["DE"] }),
    { uniqueItems: true },
  ),
  remote: analyzer,
  nlp: tokenClassifier,
  llm: judge,
  classify: sequenceClassifier,
  embed: topicEmbedder,
  prefilter: withDefault(
    choice("`native` uses the native library and fails at start without it; `pure` is built in and slower.", [
      "native",
      "pure",
    ]),
    "native",
  ),
  apply_to: segmentKinds(
    "Kinds of segment that are inspected; left out, every kind of a request that can be rewritten (`llm`: `user` and `tool_result`). `output`, `header` and `query` only when named.",
  ),
  mode: withDefault(
    choice("`shadow` records findings for audit and hides them from policy.", ["inline", "shadow"]),
    "inline",
  ),
  schedule: withDefault(
    choice(
      "`sync`: the request waits; `overlap`: beside the upstream call, the response waits; `async`: nothing waits, findings count from the next turn.",
      ["sync", "overlap", "async"],
    ),
    "sync",
  ),
  role: withDefault(
    choice("`confirm` sees only windows around what another detector found.", ["discover", "confirm"]),
    "discover",
  ),
  confirm_window: integer("Bytes around a finding that a `confirm` detector sees; left out, 96.", { minimum: 0 }),
  narrow_spans: flag("With `role: confirm`: shrinks a finding to what this detector found of the same entity."),
  threshold: score("Annotations of this detector that score less are dropped, after context enhancement."),
  timeout: positiveDuration("Longest work on one request; left out, the request's own deadline."),
  on_error: withDefault(
    faultAnswer("What a failing detector does: `fail_open` logs and goes on, `fail_closed` refuses the request."),
    "fail_open",
  ),
});

export const detectors = list("Members of the ensemble, in planned order.", detector);

export type Detector = TypeOf<typeof detector>;
export type { CustomRecognizer } from "./recognizers.ts";
