/**
 * `guardrails`: detectors, rules over their findings, and handling of streams and keys. Spec: document 3, `guardrails`. Sizes
 * are in bytes.
 */

import {
  choice,
  example,
  flag,
  integer,
  map,
  number,
  object,
  orEmpty,
  positiveDuration,
  secret,
  type TypeOf,
  text,
  withDefault,
} from "../../schema/schema.ts";
import { score, strings } from "../terms.ts";
import { detectors } from "./detectors.ts";
import { guardrailRules } from "./guardrail-rules.ts";

const stream = object(
  "This section configures the inspection of streamed responses. It has an effect if a detector applies to `output`.",
  {
    policy: withDefault(
      choice("`window` holds back only as much text as a finding could span. `buffer` holds back the whole response.", [
        "window",
        "buffer",
      ]),
      "window",
    ),
    max_hold_bytes: withDefault(
      example(
        integer(
          "If the length of a possible finding has no bound, at most this many bytes are held back. Text that is released without proof is counted.",
          { minimum: 1 },
        ),
        4_096,
      ),
      512,
    ),
    on_hold_overflow: withDefault(
      choice("If that limit is reached, `emit` releases the text, and `buffer` holds back the rest of the response.", [
        "emit",
        "buffer",
      ]),
      "emit",
    ),
    live_horizon: withDefault(
      flag("If true, less text is held back as soon as the text so far proves that no finding can be pending."),
      true,
    ),
    scan_chunk_bytes: example(
      integer(
        "The detectors scan again after this many bytes, and 1 scans on every frame. The default is the longest possible finding, but at most 64.",
        { minimum: 1 },
      ),
      64,
    ),
  },
);

const response = object(
  "This section configures the inspection of responses that are not streamed. It has an effect if a detector applies to `output`.",
  {
    max_body_bytes: withDefault(
      example(integer("Bodies up to this length are inspected.", { minimum: 1 }), 4_194_304),
      1_048_576,
    ),
    on_oversize: withDefault(
      choice("`allow` passes a longer body without inspection and counts it. `deny` refuses it.", ["allow", "deny"]),
      "allow",
    ),
  },
);

const overlap = object("This section applies to detectors with `schedule: overlap`.", {
  on_redact: withDefault(
    choice(
      "A request that was already forwarded cannot be rewritten. `deny` refuses the response, and `allow` only records the finding.",
      ["deny", "allow"],
    ),
    "deny",
  ),
});

const background = object("This section applies to detectors with `schedule: async`.", {
  max_in_flight: withDefault(
    example(integer("At most this many scans run at once. A further scan is dropped and counted.", { minimum: 1 }), 16),
    4,
  ),
  timeout: withDefault(
    example(positiveDuration("The scan of one text may take this long. A longer scan is stopped and counted."), "30s"),
    "30s",
  ),
});

export const guardrails = object(
  "This section inspects texts: detectors find something, and rules decide what happens with it.",
  {
    detectors: withDefault(detectors, []),
    rules: withDefault(guardrailRules, []),
    score_threshold: score("Findings with a lower score are dropped before the rules see them.", 0.5),
    context_enhancement: withDefault(
      flag("If true, words of a finding's context that are near it raise its score."),
      true,
    ),
    agreement_boost: withDefault(
      example(
        number(
          "This is added to the score of a finding if a second detector finds the same entity type at an overlapping place. 0 turns it off.",
          {
            minimum: 0,
            maximum: 1,
          },
        ),
        0.2,
      ),
      0,
    ),
    allow_list: strings(
      "Findings whose text is listed here are dropped.",
      "One text, or one regular expression.",
      "support@example.com",
    ),
    allow_list_match: withDefault(
      choice(
        "With `exact` the whole text of the finding must equal an entry, with upper and lower case. With `regex` an entry may match anywhere in it, in any case.",
        ["exact", "regex"],
      ),
      "exact",
    ),
    conflicts: withDefault(
      choice(
        "Overlapping findings are treated in this way. `merge_similar_or_contained` merges them, `remove_intersections` keeps the one with the higher score, and `none` keeps all.",
        ["merge_similar_or_contained", "remove_intersections", "none"],
      ),
      "merge_similar_or_contained",
    ),
    cache_entries: withDefault(
      example(
        integer("The results of this many texts are remembered, so that they are not scanned again. 0 turns it off.", {
          minimum: 0,
        }),
        16_384,
      ),
      4096,
    ),
    explain: withDefault(
      flag("If true, each finding records why it was made. The record names the pattern and never the matched text."),
      true,
    ),
    stream,
    response,
    overlap,
    async: background,
    pseudonym_key: orEmpty(
      secret(
        text(
          "The key of the `pseudonym` operator in hexadecimal, preferably of 32 bytes. Changing it changes every pseudonym.",
          {
            pattern: "^([0-9a-fA-F]{2})+$",
          },
        ),
      ),
    ),
    fpe_key: orEmpty(
      secret(
        text(
          "The AES key of the `fpe` operator in hexadecimal, of 16, 24 or 32 bytes. Values that were encrypted with another key cannot be restored.",
          {
            pattern: "^([0-9a-fA-F]{32}|[0-9a-fA-F]{48}|[0-9a-fA-F]{64})$",
          },
        ),
      ),
    ),
    fpe_tweak: text(
      "The tweak makes the format-preserved values of this deployment differ from those of others. It is not a secret.",
      { examples: ["production"] },
    ),
    fpe_alphabets: example(
      map(
        "The map gives the characters that values of an entity type consist of. All gateways that exchange values must agree on it.",
        choice("Values of the entity type consist of these characters.", [
          "digits",
          "upper",
          "letters",
          "alnum_upper",
          "alnum",
        ]),
      ),
      { EMPLOYEE_ID: "alnum_upper" },
    ),
  },
  {
    examples: [
      {
        detectors: [{ type: "pii", prefilter: "pure" }],
        rules: [{ name: "cards", action: "redact", select: 'a.type == "pii/CREDIT_CARD"', operator: "mask" }],
      },
    ],
  },
);

export type Guardrails = TypeOf<typeof guardrails>;
