/** `guardrails.rules[]`: CEL policy over annotations. Spec: document 3, `guardrails.rules[]`. */

import {
  choice,
  example,
  flag,
  integer,
  list,
  object,
  required,
  type TypeOf,
  text,
  withDefault,
} from "../../schema/schema.ts";
import { controls, faultAnswer, filledAs, label } from "../terms.ts";
import { writableKinds } from "./kinds.ts";

const rule = object(
  "One rule about what the detectors found.",
  {
    name: required(
      label(
        "The name appears in refusals, in the audit trail and in `gateway_guardrail_decisions_total`.",
        "no-secrets",
      ),
    ),
    when: text(
      "The rule fires if this CEL expression over the findings (`annotations`) and the request is true. If it is empty or absent, the rule fires whenever something was found.",
      { examples: ['annotations.exists(a, a.category == "secret")'] },
    ),
    action: required(
      choice("`deny` refuses the request, `redact` rewrites the findings, and `annotate` only records them.", [
        "deny",
        "redact",
        "annotate",
      ]),
    ),
    requires: example(
      list(
        "The decision depends on these detectors, and the request waits for them. The default is all. With an empty list it depends on none.",
        filledAs("The name of an entry of `guardrails.detectors`.", "pii"),
        { uniqueItems: true },
      ),
      ["pii"],
    ),
    select: text(
      "A `redact` rule rewrites the findings `a` for which this CEL expression is true. The default is all findings.",
      { examples: ['a.type == "pii/CREDIT_CARD"'] },
    ),
    controls,
    kinds: writableKinds(
      "A `redact` rule rewrites segments of these kinds. The default is every kind that can be rewritten.",
    ),
    operator: withDefault(
      choice(
        "A value is rewritten in this way. `placeholder`, `pseudonym` and `fpe` give different values different results.",
        ["replace", "redact", "mask", "hash", "placeholder", "pseudonym", "fpe"],
      ),
      "replace",
    ),
    replacement: text("`replace` writes this text. It defaults to `<ENTITY_TYPE>`.", { examples: ["[removed]"] }),
    mask_char: withDefault(text("`mask` writes this character.", { pattern: "^.$", examples: ["*"] }), "*"),
    mask_chars: withDefault(
      example(integer("`mask` covers this many characters. 0 covers the whole value.", { minimum: 0 }), 12),
      0,
    ),
    from_end: withDefault(flag("If true, `mask` starts at the end of the value."), false),
    message: text("The client gets this text if the rule denies its request.", {
      examples: ["Do not send credentials to a model."],
    }),
    on_error: withDefault(
      faultAnswer(
        "If the condition cannot be evaluated, `fail_closed` refuses the request with `policy_error`, and `fail_open` skips the rule and records the error.",
      ),
      "fail_closed",
    ),
  },
  {
    examples: [
      { name: "no-secrets", when: 'annotations.exists(a, a.category == "secret")', action: "deny" },
      { name: "cards", action: "redact", select: 'a.type == "pii/CREDIT_CARD"', operator: "mask" },
    ],
  },
);

export const guardrailRules = list(
  "The rules are evaluated in this order. A denial ends the evaluation, redactions and annotations add up, and without a match the request is allowed.",
  rule,
);

export type GuardrailRule = TypeOf<typeof rule>;
