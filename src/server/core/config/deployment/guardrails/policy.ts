/** `guardrails.rules[]`: CEL policy over annotations. Spec: document 3, `guardrails.rules[]`. */

import { choice, flag, integer, list, object, required, type TypeOf, text, withDefault } from "../../schema.ts";
import { controls, faultAnswer, filled, label } from "../terms.ts";
import { writableKinds } from "./kinds.ts";

const rule = object("One rule over what the detectors found.", {
  name: required(label("Appears in refusals, in the decision log and in `gateway_guardrail_decisions_total`.")),
  when: text("CEL expression over annotations and request; empty, the rule fires whenever something was found."),
  action: required(
    choice("What the rule does: `deny` refuses, `redact` rewrites what was found, `annotate` only records.", [
      "deny",
      "redact",
      "annotate",
    ]),
  ),
  requires: list(
    "Detectors that the decision depends on; left out, the whole ensemble; empty, none.",
    filled("Name of one of `guardrails.detectors`."),
    { uniqueItems: true },
  ),
  select: text("CEL predicate over one annotation `a` that chooses what is rewritten; left out, every annotation."),
  controls,
  kinds: writableKinds("Kinds of segment that are rewritten; left out, every kind that can be."),
  operator: withDefault(
    choice("How a value is rewritten; the last three keep distinct values distinct.", [
      "replace",
      "redact",
      "mask",
      "hash",
      "placeholder",
      "pseudonym",
      "fpe",
    ]),
    "replace",
  ),
  replacement: text("Text that `replace` writes; left out, `<ENTITY_TYPE>`."),
  mask_char: withDefault(text("Character that `mask` fills with.", { pattern: "^.$", examples: ["*"] }), "*"),
  mask_chars: withDefault(integer("Characters that `mask` covers; 0 covers the whole value.", { minimum: 0 }), 0),
  from_end: withDefault(flag("Whether `mask` begins at the end."), false),
  message: text("Text of the refusal of a deny rule."),
  on_error: withDefault(
    faultAnswer(
      "What a condition that cannot be evaluated does: `fail_closed` refuses with `policy_error`, `fail_open` skips and records.",
    ),
    "fail_closed",
  ),
});

export const guardrailRules = list(
  "Rules in order: a deny ends, redactions and annotations add up, no match allows.",
  rule,
);

export type GuardrailRule = TypeOf<typeof rule>;
