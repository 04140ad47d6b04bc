/** Operations on the guardrails in force, and rehearsals with texts. Source: design decisions, sections 3 and 11 (Rehearsal). */

import {
  choice,
  flag,
  integer,
  list,
  map,
  nullable,
  number,
  object,
  optional,
  type TypeOf,
  text,
} from "../../base/index.ts";
import { answers, jsonBody, NOTHING, type Operation } from "../operation.ts";

/** Maximum length of one rehearsal's texts together, in UTF-16 units; `gateway guardrails eval` is for more. */
export const MAX_REHEARSED_LENGTH = 131_072;
export const MAX_REHEARSED_SEGMENTS = 256;

/** Kinds of segments, in the order in which they are listed. */
export const TEXT_KINDS = [
  "system",
  "user",
  "assistant",
  "tool_args",
  "tool_result",
  "output",
  "header",
  "query",
] as const;

const kind = choice("What the text is; `output` of an answer, all others of a request.", TEXT_KINDS);

const finding = {
  segment: integer("Which text, from 0."),
  type: text("`<category>/<LABEL>`."),
  category: text("Namespace of the type."),
  label: text("Entity type or verdict."),
  score: number("From 0 to 1."),
  detector: text("Detector that found it."),
  recognizer: text("Its recognizer; empty where it has none."),
  start: integer("Where it begins in the text, in UTF-8 bytes."),
  end: integer("Where it ends, exclusive."),
  trace: nullable(
    object("Why it was found; null where the document says `explain: false`, or the detector knows nothing of it.", {
      pattern: text("Name of the pattern; of a deny list the number of its entry."),
      score_base: number("Score of the pattern, or 1 where a check proved it."),
      validated: nullable(flag("What a check said of it; null: nothing.")),
      context_word: nullable(text("Word of the recognizer that stood before it; null: none.")),
      score_context: number("Added for that word."),
      agreement: number("Added because another detector found it too."),
    }),
  ),
} as const;

const rehearsal = object("What guardrails would make of the texts. Findings hold nothing of them.", {
  decision: choice("Of the whole; `error`: a rule or a detector could not do its work, and it would be refused.", [
    "allow",
    "deny",
    "error",
  ]),
  rule: nullable(text("Rule that refuses; null: none.")),
  message: nullable(text("Message that the caller would get; null if there is none.")),
  decisions: list(
    "Rules that act, in their order.",
    object("A rule.", {
      rule: text("Its name."),
      action: choice("What it does.", ["deny", "redact", "annotate"]),
      controls: list("Identifiers of its controls.", text("Identifier.")),
      types: map("Findings that it rewrote or read, by type.", integer("How many."), {
        keyPattern: "^[^/]+/.+$",
        maxProperties: 10_000,
      }),
      kinds: list("Kinds of the texts that they are in.", kind),
    }),
  ),
  skipped: list(
    "Rules that could not be evaluated and were skipped (`on_error: fail_open`).",
    object("A rule.", {
      rule: text("Its name."),
      part: choice("Which of its expressions.", ["when", "select"]),
      error: text("Kind of the fault."),
    }),
  ),
  failures: list(
    "Detectors that could not do their work.",
    object("A detector.", {
      detector: text("Its name."),
      kind: choice("What happened.", ["failed", "timeout", "overloaded", "excess"]),
      refuses: flag("Whether the message is refused for it."),
    }),
  ),
  detectors: list(
    "All of the document, in its order.",
    object("A detector.", {
      name: text("Its name."),
      type: text("Its type."),
      mode: choice("`shadow`: rules do not see what it finds.", ["inline", "shadow"]),
      kinds: list("Kinds of text that it reads.", kind),
      in_force: flag("Whether it reads texts of this profile."),
      asked: flag("Whether it read any of these texts."),
    }),
  ),
  segments: list(
    "The texts in their order.",
    object("A text.", {
      kind,
      text: text(
        "As it would go on, or as it came where the whole is refused; `<LABEL:operator>` stands for what an operator makes with a key.",
      ),
      rewritten: flag("Whether a rule rewrote it."),
    }),
  ),
  findings: list("What rules read.", object("A finding.", finding)),
  shadow: list("Findings of detectors in `mode: shadow`.", object("A finding.", finding)),
  removed: list(
    "What was met and does not count.",
    object("A finding.", {
      ...finding,
      by: choice(
        "What removed it: `threshold` of its detector, `score_threshold`, `allow_list`, `conflicts` with another, a `form` that an operator wrote, or a `check` that says it is none.",
        ["threshold", "score_threshold", "allow_list", "conflicts", "form", "check"],
      ),
    }),
  ),
  more: integer("Number of findings that are left out; each list has at most 500."),
});

export const guardrailOperations = {
  inspect_guardrails: {
    method: "POST",
    path: "/guardrails/inspect",
    group: "read",
    resource: { kind: "Guardrails", name: "guardrails" },
    help: "Shows what guardrails would make of texts; nothing is forwarded or recorded.",
    params: NOTHING,
    query: NOTHING,
    body: jsonBody(
      object("Texts of one request, or of one answer.", {
        segments: list(
          "The texts, the oldest first; at most 131072 characters together.",
          object("A text.", { kind, text: text("The text.", { maxLength: MAX_REHEARSED_LENGTH }) }),
          { minItems: 1, maxItems: MAX_REHEARSED_SEGMENTS },
        ),
        profile: optional(text("Profile of the caller; left out, one without.", { minLength: 1, maxLength: 256 })),
        model: optional(text("Model that is asked for, as rules read it.", { maxLength: 1024 })),
        route: optional(text("Route, as rules read it; left out, `chat_completions`.", { maxLength: 256 })),
      }),
    ),
    answer: answers(rehearsal),
    codes: [],
  },
} as const satisfies Record<string, Operation>;

/** Answer of `POST /guardrails/inspect`. */
export type GuardrailRehearsal = TypeOf<typeof rehearsal>;
