/** Flags of the verbs of guardrails. */

import { doorFlags } from "./door-flags.ts";
import type { FlagTable } from "./flags.ts";

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
    meaning: "kind of segment of a case that names none",
  },
  types: {
    kind: "string",
    value: "TYPE[,...]",
    defaultText: "those that the data mark",
    meaning: "entity types or labels that are scored",
  },
  sweep: {
    kind: "boolean",
    meaning: "with thresholds lowered: average precision, and the figures at every 0.05 and at quantiles of the scores",
  },
  errors: { kind: "integer", value: "N", min: 0, max: 100_000, default: 10, meaning: "wrong cases to print" },
  parallel: { kind: "integer", value: "N", min: 1, max: 256, default: 1, meaning: "cases inspected at once" },
  limit: { kind: "integer", value: "N", min: 0, default: 0, meaning: "cases of each file that are scored; 0: all" },
  json: { kind: "boolean", meaning: "print the report as JSON" },
  invariance: { kind: "boolean", meaning: "read the data as one meaning a row in several languages" },
  reference: {
    kind: "string",
    value: "LANG",
    default: "en",
    meaning: "with -invariance: the language that the others are read against",
  },
  verdicts: { kind: "boolean", meaning: "with -json: what is marked and what was found in every case" },
  rename: {
    kind: "strings",
    value: "FROM=TO",
    meaning: "rename a type, beside PER, PERS, LOC, GPE, ORG and MIS to their long names; may be repeated",
  },
} as const satisfies FlagTable;

export const guardrailsInspectFlags = {
  ...doorFlags,
  config: {
    kind: "string",
    value: "PATH",
    meaning: "deployment document, or a node file that names one; in place of a gateway that runs",
  },
  profile: { kind: "string", value: "NAME", defaultText: "none", meaning: "profile of the caller" },
  kind: {
    kind: "string",
    value: "KIND",
    choices: ["system", "user", "assistant", "tool_args", "tool_result", "output", "header", "query"],
    default: "user",
    meaning: "what the text is; output: of an answer, all others of a request",
  },
  model: { kind: "string", value: "NAME", meaning: "model that is asked for, as rules read it" },
  json: { kind: "boolean", meaning: "print all of it as JSON, as the admin API answers" },
} as const satisfies FlagTable;

export const guardrailsListFlags = {
  ...doorFlags,
  json: { kind: "boolean", meaning: "print the rows as JSON" },
} as const satisfies FlagTable;
