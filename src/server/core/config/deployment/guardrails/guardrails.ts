/**
 * `guardrails`: detectors, rules over their findings, and handling of streams and keys. Spec: document 3, `guardrails`. Sizes
 * are in bytes.
 */

import {
  choice,
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
} from "../../schema.ts";
import { score, strings } from "../terms.ts";
import { detectors } from "./detectors.ts";
import { guardrailRules } from "./policy.ts";

const stream = object("Inspection of streamed responses; works when a detector applies to `output`.", {
  policy: withDefault(
    choice("`window` holds only as much as a finding could span, `buffer` the whole response.", ["window", "buffer"]),
    "window",
  ),
  max_hold_bytes: withDefault(
    integer("Most that is held where the length of a finding has no bound; text released unproven is counted.", {
      minimum: 1,
    }),
    512,
  ),
  on_hold_overflow: withDefault(
    choice("What happens when that is reached: `emit` releases, `buffer` holds the rest.", ["emit", "buffer"]),
    "emit",
  ),
  live_horizon: withDefault(flag("Holds less where the text so far shows that nothing can be pending."), true),
  scan_chunk_bytes: integer("Bytes between two scans; 1 scans on every frame; left out, the horizon, at most 64.", {
    minimum: 1,
  }),
});

const response = object("Inspection of responses that are not streamed; works when a detector applies to `output`.", {
  max_body_bytes: withDefault(integer("Longest body that is inspected.", { minimum: 1 }), 1_048_576),
  on_oversize: withDefault(
    choice("What happens to a longer body: `allow` passes and counts it, `deny` refuses it.", ["allow", "deny"]),
    "allow",
  ),
});

const overlap = object("For detectors with `schedule: overlap`.", {
  on_redact: withDefault(
    choice(
      "A request that was forwarded cannot be rewritten: `deny` refuses the response, `allow` records the finding.",
      ["deny", "allow"],
    ),
    "deny",
  ),
});

const background = object("For detectors with `schedule: async`.", {
  max_in_flight: withDefault(integer("Scans at once; one beyond it is dropped and counted.", { minimum: 1 }), 4),
  timeout: withDefault(
    positiveDuration("Longest scan of one text; one that takes longer is given up and counted."),
    "30s",
  ),
});

export const guardrails = object("Detectors, and the policy over what they find.", {
  detectors: withDefault(detectors, []),
  rules: withDefault(guardrailRules, []),
  score_threshold: score("Annotations that score less are dropped before policy."),
  context_enhancement: withDefault(flag("Raises the score of a finding that has context words nearby."), true),
  agreement_boost: withDefault(
    number("Added to the score when a second detector finds the same entity type in an overlapping place; 0 is off.", {
      minimum: 0,
      maximum: 1,
    }),
    0,
  ),
  allow_list: strings("Annotations whose matched text is listed are dropped.", "A text, or a regular expression."),
  allow_list_match: withDefault(
    choice("`exact`: the whole matched text, by case; `regex`: found anywhere in it, whatever the case.", [
      "exact",
      "regex",
    ]),
    "exact",
  ),
  conflicts: withDefault(
    choice("What becomes of overlapping findings; `remove_intersections` keeps the one that scores higher.", [
      "merge_similar_or_contained",
      "remove_intersections",
      "none",
    ]),
    "merge_similar_or_contained",
  ),
  cache_entries: withDefault(
    integer("Entries of the cache that spares text already scanned; 0 turns it off.", { minimum: 0 }),
    4096,
  ),
  explain: withDefault(flag("Keeps for each annotation why it was made: the pattern, never the matched text."), true),
  stream,
  response,
  overlap,
  async: background,
  pseudonym_key: orEmpty(
    secret(
      text("Key of the `pseudonym` operator in hexadecimal, 32 bytes by preference; changing it renames everybody.", {
        pattern: "^([0-9a-fA-F]{2})+$",
      }),
    ),
  ),
  fpe_key: orEmpty(
    secret(
      text("AES key of the `fpe` operator in hexadecimal: 16, 24 or 32 bytes; changing it is a migration.", {
        pattern: "^([0-9a-fA-F]{32}|[0-9a-fA-F]{48}|[0-9a-fA-F]{64})$",
      }),
    ),
  ),
  fpe_tweak: text("Separates one deployment's format-preserved values from another's; not a secret."),
  fpe_alphabets: map(
    "Characters that the values of an entity type are made of; all gateways must agree.",
    choice("Characters that a value may be made of.", ["digits", "upper", "letters", "alnum_upper", "alnum"]),
  ),
});

export type Guardrails = TypeOf<typeof guardrails>;
