/** Segments, findings and policies for these tests. */

import assert from "node:assert/strict";
import {
  createRewriting,
  type DetectorFacts,
  type DetectorFindings,
  type Finding,
  type GuardrailPolicy,
  type GuardrailRule,
  type Guardrails,
  type GuardrailVariables,
  type InspectionContext,
  type PolicyFacts,
  type Segment,
} from "../../../../../src/server/core/guardrails/index.ts";
import { compilePolicy } from "../../../../../src/server/core/guardrails/policy/index.ts";

export const rule = (more: Partial<GuardrailRule> = {}): GuardrailRule => ({
  name: "r",
  action: "redact",
  operator: "replace",
  mask_char: "*",
  mask_chars: 0,
  from_end: false,
  on_error: "fail_closed",
  ...more,
});

const config = (more: Partial<Guardrails> = {}): Guardrails => ({
  detectors: [],
  rules: [],
  context_enhancement: true,
  agreement_boost: 0,
  allow_list_match: "exact",
  conflicts: "merge_similar_or_contained",
  cache_entries: 4096,
  explain: true,
  ...more,
});

export const detector = (name = "pii", more: Partial<DetectorFacts> = {}): DetectorFacts => ({
  name,
  type: "pii",
  kinds: ["system", "user", "assistant", "tool_args", "tool_result"],
  mode: "inline",
  schedule: "sync",
  findingTypes: undefined,
  hasHorizon: true,
  ...more,
});

export const facts = (
  detectors: readonly DetectorFacts[] = [detector()],
  more: Partial<PolicyFacts> = {},
): PolicyFacts => ({
  detectors,
  profiles: [],
  ...more,
});

export function policyOf(
  guardrails: Partial<Guardrails>,
  known: PolicyFacts = facts(),
  profile?: string,
): GuardrailPolicy {
  const { of, problems } = compilePolicy(config(guardrails), known);
  assert.deepEqual(
    problems.filter(({ severity }) => severity === "error"),
    [],
  );
  return of(profile);
}

/** Returns `path: message`. */
export const problemsOf = (guardrails: Partial<Guardrails>, known: PolicyFacts = facts()): readonly string[] =>
  compilePolicy(config(guardrails), known).problems.map(
    ({ severity, path, message }) => `${severity} ${path.join(".")}: ${message}`,
  );

export const segment = (text: string, more: Partial<Segment> = {}): Segment => ({
  kind: "user",
  text,
  ref: "",
  turn: 0,
  isReadOnly: false,
  ...more,
});

/** Returns a finding at the place, or at the first occurrence of a text. */
export function finding(text: string, value: string, label: string, more: Partial<Finding> = {}): Finding {
  const start = text.indexOf(value);
  assert.ok(start >= 0);
  return {
    start,
    end: start + value.length,
    category: "pii",
    label,
    score: 0.8,
    recognizer: "R",
    trace: undefined,
    ...more,
  };
}

export const by = (name: string, ...findings: readonly (readonly Finding[])[]): DetectorFindings => ({
  detector: name,
  mode: "inline",
  findings,
});

export const VARIABLES: GuardrailVariables = {
  key: { name: "app", metadata: { team: "risk" } },
  agent: { name: "", issuer: "", subject: "" },
  user: { name: "", issuer: "", subject: "", email: "" },
  direction: "request",
  hop: "llm",
  profile: "staff",
  model: "gpt-4o",
  route: "chat",
  server: "",
  method: "",
  name: "",
  peer: "",
};

export const occasion = (more: Partial<GuardrailVariables> = {}): InspectionContext => ({
  variables: { ...VARIABLES, ...more },
  rewriting: createRewriting(),
});

/** Returns the rewritten text of one segment with findings of the detector `pii`. */
export function rewrittenBy(
  policy: GuardrailPolicy,
  text: string,
  findings: readonly Finding[],
  on: InspectionContext = occasion(),
): string {
  const judged = policy.judge({ segments: [segment(text)], found: [by("pii", findings)] }, on);
  assert.equal(judged.outcome, "allow");
  return judged.rewrites[0]?.text ?? text;
}
