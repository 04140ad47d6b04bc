/** `guardrails.detectors[]`: the ensemble. Spec: document 3, `guardrails.detectors[]` (common keys). */

import {
  choice,
  example,
  flag,
  integer,
  list,
  object,
  positiveDuration,
  required,
  type TypeOf,
  text,
  withDefault,
} from "../../schema/schema.ts";
import { faultAnswer, filledAs, label, score } from "../terms.ts";
import { analyzer } from "./analyzer.ts";
import { sequenceClassifier, tokenClassifier, topicEmbedder } from "./classifiers.ts";
import { entityTypes, segmentKinds } from "./kinds.ts";
import { judge } from "./llm-detector.ts";
import { customRecognizers } from "./recognizers.ts";

export const DETECTOR_TYPES = ["pii", "remote", "nlp", "llm", "classify", "embed"] as const;

const detector = object(
  "One detector. The section that has the name of its `type` configures it.",
  {
    type: required(
      choice(
        "`pii` reads patterns and check digits. `remote` asks an analyzer. `nlp` labels tokens, `classify` labels segments, and `embed` recognizes topics, each by a model. `llm` asks a language model.",
        DETECTOR_TYPES,
      ),
    ),
    name: label("The name tells two detectors of one type apart. It defaults to the type.", "names"),
    entities: entityTypes(
      "Only findings of these entity types are reported. The default is all. A short list is the best way to save time.",
    ),
    recognizers: list(
      "Only these recognizers of `pii` run. The default is all.",
      filledAs("The name of one recognizer.", "CreditCardRecognizer"),
      {
        uniqueItems: true,
      },
    ),
    custom_recognizers: customRecognizers,
    phone_regions: list(
      "`pii` reads the national telephone formats of these regions. Each region costs a call for each long run of digits.",
      text("One region, as its ISO 3166 alpha-2 code.", { pattern: "^[A-Z]{2}$", examples: ["DE"] }),
      { uniqueItems: true },
    ),
    remote: analyzer,
    nlp: tokenClassifier,
    llm: judge,
    classify: sequenceClassifier,
    embed: topicEmbedder,
    prefilter: withDefault(
      choice(
        "`native` uses the package `re2`, and the start fails without it. `pure` is built in. Both take the same time for built-in types; for custom recognizers `native` takes a twentieth or less.",
        ["native", "pure"],
      ),
      "native",
    ),
    apply_to: segmentKinds(
      "These kinds of segment are inspected. The default is every kind of a request that can be rewritten, and for `llm` it is `user` and `tool_result`. `output`, `header` and `query` are inspected only if they are listed.",
    ),
    mode: withDefault(
      choice(
        "Rules see the findings of an `inline` detector. Findings of a `shadow` detector are recorded for audit only.",
        ["inline", "shadow"],
      ),
      "inline",
    ),
    schedule: withDefault(
      choice(
        "With `sync` the request waits. With `overlap` the detector runs during the upstream call, and the response waits. With `async` nothing waits, and findings count from the next turn on.",
        ["sync", "overlap", "async"],
      ),
      "sync",
    ),
    role: withDefault(
      choice(
        "A `discover` detector reads whole segments. A `confirm` detector reads only windows around the findings of other detectors.",
        ["discover", "confirm"],
      ),
      "discover",
    ),
    confirm_window: example(
      integer("A `confirm` detector reads this many bytes around a finding. The default is 96.", { minimum: 0 }),
      128,
    ),
    narrow_spans: flag(
      "If true, a `confirm` detector shrinks a finding to the part in which it found the same entity type.",
    ),
    threshold: score(
      "Findings of this detector with a lower score are dropped, after context words raised their scores.",
      0.6,
    ),
    timeout: example(
      positiveDuration("The detector may work this long on one request. The default is the request's own deadline."),
      "2s",
    ),
    on_error: withDefault(
      faultAnswer(
        "If the detector fails, `fail_open` logs the failure and continues, and `fail_closed` refuses the request.",
      ),
      "fail_open",
    ),
  },
  {
    examples: [
      { type: "pii", prefilter: "pure", entities: ["CREDIT_CARD", "EMAIL_ADDRESS"] },
      { type: "remote", remote: { endpoint: "http://presidio.internal:5002" }, timeout: "2s" },
    ],
  },
);

export const detectors = list(
  "The detectors run over the texts of requests and answers. They are planned in this order.",
  detector,
);

export type Detector = TypeOf<typeof detector>;
export type { CustomRecognizer } from "./recognizers.ts";
