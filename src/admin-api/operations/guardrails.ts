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
import { answers, jsonBody, NOTHING, type Operation } from "../operation-definition.ts";

/** Maximum length of one rehearsal's texts together, in UTF-16 units; `gateway guardrails eval` is for more. */
export const MAX_REHEARSED_LENGTH = 131_072;
const MAX_REHEARSED_SEGMENTS = 256;

/** Kinds of segments, in the order in which they are listed. */
const TEXT_KINDS = ["system", "user", "assistant", "tool_args", "tool_result", "output", "header", "query"] as const;

const kind = choice("Kind of the text. `output` is text of an answer; all others are text of a request.", TEXT_KINDS);

const finding = {
  segment: integer("Number of the text in `segments`, from 0."),
  type: text("`<category>/<LABEL>`."),
  category: text("Category: the part of the type before the slash."),
  label: text("Entity type or verdict: the part of the type after the slash."),
  score: number("Score from 0 to 1."),
  detector: text("Detector that reported the finding."),
  recognizer: text("Recognizer of the detector. Empty if the detector has none."),
  start: integer("Start of the finding in the text, as an offset in UTF-8 bytes."),
  end: integer("End of the finding, exclusive, as an offset in UTF-8 bytes."),
  trace: nullable(
    object(
      "How the score came about. Null with `explain: false` in the document, or if the detector does not report it.",
      {
        pattern: text("Name of the pattern that matched, or the number of the entry in a deny list."),
        score_base: number("Score of the pattern, or 1 if a check such as a check digit confirmed the match."),
        validated: nullable(flag("Result of the check. Null if there is no check.")),
        context_word: nullable(
          text("Context word of the recognizer that was found before the match. Null if there is none."),
        ),
        score_context: number("Score added for the context word."),
        agreement: number("Score added because another detector found the same."),
      },
    ),
  ),
} as const;

const rehearsal = object("What the guardrails would do with the texts. Findings contain no text.", {
  decision: choice(
    "Decision on the whole request or answer. `error`: a rule or detector failed, and the request would be refused.",
    ["allow", "deny", "error"],
  ),
  rule: nullable(text("Rule that denies. Null if there is none.")),
  message: nullable(text("Message that the caller would receive. Null if there is none.")),
  decisions: list(
    "Rules that act, in document order.",
    object("A rule.", {
      rule: text("Name of the rule."),
      action: choice("Action of the rule.", ["deny", "redact", "annotate"]),
      controls: list("Controls that the rule cites.", text("Identifier.")),
      types: map("Number of findings that the rule rewrote or read, by type.", integer("Number of findings."), {
        keyPattern: "^[^/]+/.+$",
        maxProperties: 10_000,
      }),
      kinds: list("Kinds of the texts that contain these findings.", kind),
    }),
  ),
  skipped: list(
    "Rules that could not be evaluated and were skipped (`on_error: fail_open`).",
    object("A rule.", {
      rule: text("Name of the rule."),
      part: choice("Expression of the rule that failed.", ["when", "select"]),
      error: text("Kind of error."),
    }),
  ),
  failures: list(
    "Detectors that failed.",
    object("A detector.", {
      detector: text("Name of the detector."),
      kind: choice("Kind of failure.", ["failed", "timeout", "overloaded", "excess"]),
      refuses: flag("Whether the request is refused because of the failure."),
    }),
  ),
  detectors: list(
    "All detectors, in document order.",
    object("A detector.", {
      name: text("Name of the detector."),
      type: text("Type of the detector."),
      mode: choice("Mode of the detector. With `shadow`, rules do not see its findings.", ["inline", "shadow"]),
      kinds: list("Kinds of text that the detector reads.", kind),
      in_force: flag("Whether the detector applies to this profile."),
      asked: flag("Whether the detector read any of these texts."),
    }),
  ),
  segments: list(
    "The texts after rewriting, in the order of the request.",
    object("A text.", {
      kind,
      text: text(
        "Text as it would be forwarded, or unchanged if the request is refused. `<LABEL:operator>` stands for a replacement that depends on a secret key.",
      ),
      rewritten: flag("Whether a rule rewrote the text."),
    }),
  ),
  findings: list("Findings that rules read.", object("A finding.", finding)),
  shadow: list("Findings of detectors in `mode: shadow`.", object("A finding.", finding)),
  removed: list(
    "Findings that were dropped.",
    object("A finding.", {
      ...finding,
      by: choice(
        "What dropped the finding: `threshold` of the detector, `score_threshold`, `allow_list`, a better finding in the same place (`conflicts`), a placeholder of an earlier rewrite (`form`), or a failed `check`.",
        ["threshold", "score_threshold", "allow_list", "conflicts", "form", "check"],
      ),
    }),
  ),
  more: integer("Number of findings that were left out, since each list has at most 500."),
});

export const guardrailOperations = {
  inspect_guardrails: {
    method: "POST",
    path: "/guardrails/inspect",
    group: "read",
    resource: { kind: "Guardrails", name: "guardrails" },
    help: "Shows what the guardrails would do with texts, and forwards and records nothing.",
    params: NOTHING,
    query: NOTHING,
    body: jsonBody(
      object("Texts of one request, or of one answer.", {
        segments: list(
          "The texts, oldest first, with at most 131072 characters in total.",
          object("A text.", { kind, text: text("The text.", { maxLength: MAX_REHEARSED_LENGTH }) }),
          { minItems: 1, maxItems: MAX_REHEARSED_SEGMENTS },
        ),
        profile: optional(
          text("Profile of the caller. By default the caller has none.", { minLength: 1, maxLength: 256 }),
        ),
        model: optional(text("Requested model, for rules that read it.", { maxLength: 1024 })),
        route: optional(text("Route, for rules that read it. The default is `chat_completions`.", { maxLength: 256 })),
      }),
    ),
    answer: answers(rehearsal),
    codes: [],
  },
} as const satisfies Record<string, Operation>;

/** Answer of `POST /guardrails/inspect`. */
export type GuardrailRehearsal = TypeOf<typeof rehearsal>;
