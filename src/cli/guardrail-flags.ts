/** Flags of the verbs of guardrails. */

import { addressFlags } from "./address-flags.ts";
import type { FlagTable } from "./parse-flags.ts";

export const guardrailsEvalFlags = {
  config: {
    kind: "string",
    value: "PATH",
    required: true,
    meaning: "deployment document, or a node file that names one",
  },
  detector: { kind: "string", value: "NAME", defaultText: "all", meaning: "score the findings of one detector" },
  kind: {
    kind: "string",
    value: "KIND",
    choices: ["user", "system", "assistant", "tool_result", "output"],
    default: "user",
    meaning: "kind of segment for cases without one",
  },
  types: {
    kind: "string",
    value: "TYPE[,...]",
    defaultText: "those of the data",
    meaning: "entity types or labels to score",
  },
  sweep: {
    kind: "boolean",
    meaning:
      "also report average precision, and the figures at thresholds in steps of 0.05 and at quantiles of the scores",
  },
  errors: { kind: "integer", value: "N", min: 0, max: 100_000, default: 10, meaning: "number of wrong cases to print" },
  parallel: { kind: "integer", value: "N", min: 1, max: 256, default: 1, meaning: "number of cases inspected at once" },
  limit: { kind: "integer", value: "N", min: 0, default: 0, meaning: "number of cases to score in each file; 0: all" },
  json: { kind: "boolean", meaning: "print the report as JSON" },
  invariance: {
    kind: "boolean",
    meaning: "read the data as rows of translations, and compare the findings of the languages",
  },
  reference: {
    kind: "string",
    value: "LANG",
    default: "en",
    meaning: "with -invariance: language that the others are compared with",
  },
  verdicts: { kind: "boolean", meaning: "with -json: also print the labels and findings of every case" },
  rename: {
    kind: "strings",
    value: "FROM=TO",
    meaning: "rename a type, in addition to PER, PERS, LOC, GPE, ORG and MIS; may be repeated",
  },
} as const satisfies FlagTable;

export const guardrailsInspectFlags = {
  ...addressFlags,
  config: {
    kind: "string",
    value: "PATH",
    meaning: "deployment document, or a node file that names one, instead of a running gateway",
  },
  profile: { kind: "string", value: "NAME", defaultText: "none", meaning: "profile of the caller" },
  kind: {
    kind: "string",
    value: "KIND",
    choices: ["system", "user", "assistant", "tool_args", "tool_result", "output", "header", "query"],
    default: "user",
    meaning: "kind of the text; output is part of an answer, all others of a request",
  },
  model: { kind: "string", value: "NAME", meaning: "requested model, for rules that read it" },
  json: { kind: "boolean", meaning: "print the answer of the admin API as JSON" },
} as const satisfies FlagTable;

export const guardrailsListFlags = {
  ...addressFlags,
  json: { kind: "boolean", meaning: "print the rows as JSON" },
} as const satisfies FlagTable;
