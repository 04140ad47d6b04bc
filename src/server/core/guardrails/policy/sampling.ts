/**
 * Sample annotations that a detector could make, to evaluate a rule's `select` on: a match proves that the rule would select
 * such an annotation; no match proves nothing.
 */

import type { DetectorFacts, GuardrailVariables, SegmentKind } from "../index.ts";
import type { CompiledRule } from "./guardrail-rule.ts";
import type { AnnotationValue } from "./guardrail-variables.ts";

const SCORES = [1, 0.5];

const NOBODY: GuardrailVariables = {
  key: { name: "", metadata: {} },
  agent: { name: "", issuer: "", subject: "" },
  user: { name: "", issuer: "", subject: "", email: "" },
  direction: "request",
  hop: "llm",
  profile: "",
  model: "",
  route: "",
  server: "",
  method: "",
  name: "",
  peer: "",
};

/** Returns the context of a request or answer without a caller. */
export const contextOf = (kind: SegmentKind): GuardrailVariables =>
  kind === "output" ? { ...NOBODY, direction: "response" } : NOBODY;

/** Returns true if the rule certainly selects some annotation of the type in a segment of the kind. */
export function wouldSelect(rule: CompiledRule, detector: DetectorFacts, type: string, kind: SegmentKind): boolean {
  if (rule.select === undefined) return true;
  const { select } = rule;
  const slash = type.indexOf("/");
  return SCORES.some((score) => {
    const a: AnnotationValue = {
      type,
      category: type.slice(0, slash),
      label: type.slice(slash + 1),
      score,
      kind,
      detector: detector.name,
      recognizer: "",
      ref: "",
      turn: 0n,
      length: 16n,
    };
    const outcome = select.evaluate({ ...contextOf(kind), a });
    return outcome.kind === "value" && outcome.value === true;
  });
}

/** Returns the types that the detector can report; if these are unknown, the types that the rule names. */
export const typesOf = ({ select }: CompiledRule, { findingTypes }: DetectorFacts): readonly string[] =>
  findingTypes ??
  select?.mentions.flatMap(({ subject, how, texts }) =>
    subject === "annotation.type" && how === "equals"
      ? texts
      : subject === "annotation.label"
        ? texts.map((text) => `pii/${text}`)
        : [],
  ) ??
  [];
