/**
 * Judges a case by the gateway's rules and in its order: access rules at the provider of the request, then the
 * profile's `allowed_models`. Failover candidates are judged one by one; those that the caller may not use are skipped.
 * Suspensions, budgets and capabilities of channels are not considered.
 */

import type { Decision, Layer, RuleError, Verdict } from "../../server/core/policy/index.ts";
import type { Profile } from "../../server/snapshot/index.ts";
import { type Expected, isOf } from "./expected-outcome.ts";
import type { Case, Question } from "./resolve-cases.ts";

export type Outcome =
  | {
      readonly kind: "allow";
      readonly decisions: readonly Decision[];
      /** Providers that may serve the request, in order; empty for MCP and A2A. */
      readonly providers: readonly string[];
      /** Failover candidates that a rule denies. */
      readonly skipped: readonly { readonly provider: string; readonly refusal: Refusal }[];
    }
  | Refusal
  /** No provider serves the model, so no rule or list is evaluated. */
  | { readonly kind: "unserved" };

type Refusal =
  | { readonly kind: "deny"; readonly by: Decision; readonly message: string }
  | { readonly kind: "error"; readonly by: RuleError; readonly message: string }
  | { readonly kind: "unlisted"; readonly profile: string };

export interface Judgement {
  readonly case: Case;
  readonly passes: boolean;
  readonly outcome: Outcome;
  /** Rules that decided, for any candidate. */
  readonly deciders: readonly { readonly rule: string; readonly layer: Layer }[];
}

export function judgeCase(it: Case): Judgement {
  const verdicts = verdictsOf(it.question, it.profile);
  const outcome = outcomeOf(verdicts, it);
  const deciders = verdicts.flatMap(({ verdict }) => [
    ...verdict.decisions,
    ...(verdict.kind === "error" ? [verdict.by] : []),
  ]);
  return { case: it, passes: isAsExpected(outcome, it.expected), outcome, deciders };
}

interface AtProvider {
  /** Provider; empty for MCP and A2A. */
  readonly provider: string;
  readonly verdict: Verdict;
}

function verdictsOf(question: Question, { policy }: Profile): readonly AtProvider[] {
  switch (question.hop) {
    case "llm":
      return question.candidates.map((variables) => ({
        provider: variables.provider,
        verdict: policy.decide("llm", variables),
      }));
    case "mcp":
      return [{ provider: "", verdict: policy.decide("mcp", question.variables) }];
    case "a2a":
      return [{ provider: "", verdict: policy.decide("a2a", question.variables) }];
    default:
      return question satisfies never;
  }
}

function outcomeOf(verdicts: readonly AtProvider[], { question, profile }: Case): Outcome {
  const [first] = verdicts;
  if (first === undefined) return { kind: "unserved" };
  const refusal = refusalOf(first.verdict);
  if (refusal !== undefined) return refusal;
  const model = question.hop === "llm" ? question.model : undefined;
  if (model !== undefined && profile.allows?.(model) === false) {
    return { kind: "unlisted", profile: profile.name ?? "" };
  }
  const skipped = verdicts.flatMap(({ provider, verdict }) => {
    const refusal = refusalOf(verdict);
    return refusal === undefined ? [] : [{ provider, refusal }];
  });
  const providers = verdicts.flatMap(({ provider, verdict }) =>
    question.hop === "llm" && verdict.kind === "allow" ? [provider] : [],
  );
  return { kind: "allow", decisions: first.verdict.decisions, providers, skipped };
}

function refusalOf(verdict: Verdict): Refusal | undefined {
  switch (verdict.kind) {
    case "allow":
      return undefined;
    case "deny":
      return { kind: "deny", by: verdict.by, message: verdict.message };
    case "error":
      return { kind: "error", by: verdict.by, message: verdict.message };
    default:
      return verdict satisfies never;
  }
}

function isAsExpected(outcome: Outcome, { expect, by, message, expectedProviders: providers }: Expected): boolean {
  switch (outcome.kind) {
    case "allow":
      return (
        expect === "allow" && isBy(outcome.decisions, by) && (providers === undefined || isSame(providers, outcome))
      );
    case "deny":
      return expect === "deny" && isBy([outcome.by], by) && (message === undefined || message === outcome.message);
    case "error":
      return expect === "error" && isBy([outcome.by], by);
    case "unlisted":
      return expect === "deny" && (by === undefined || by.kind === "allowed_models") && message === undefined;
    case "unserved":
      return false;
    default:
      return outcome satisfies never;
  }
}

function isBy(deciders: readonly { readonly rule: string; readonly layer: Layer }[], by: Expected["by"]): boolean {
  if (by === undefined) return true;
  return by.kind === "rule" && deciders.some(({ rule, layer }) => isOf(by, rule, layer));
}

const isSame = (wanted: readonly string[], { providers }: Extract<Outcome, { kind: "allow" }>): boolean =>
  wanted.length === providers.length && wanted.every((name, at) => providers[at] === name);
