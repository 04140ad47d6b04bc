/** Compiles `guardrails` of a document for every profile. */

import type { CompiledPolicy, GuardrailPolicy, Guardrails, PolicyFacts } from "../index.ts";
import { compileAllowList } from "./allow-list.ts";
import { annotateFindings, type RefineOptions } from "./annotate.ts";
import { weighRules } from "./evaluate-recorded-findings.ts";
import { type Member, VERDICT_TYPES } from "./finding-candidates.ts";
import { type CompiledRule, compileRule } from "./guardrail-rule.ts";
import { openInspection, type RulesInForce } from "./judge-texts.ts";
import { operatorKeys } from "./operators/index.ts";
import { ruleProblems } from "./policy-checks.ts";

/** Compiles the policy, which takes about a millisecond per rule. The document has passed the checks of the configuration. */
export function compilePolicy(guardrails: Guardrails, facts: PolicyFacts): CompiledPolicy {
  const { formatOf, issued } = facts;
  const keys = operatorKeys(guardrails, formatOf, issued);
  const allowList = compileAllowList(guardrails);
  const outcomes = guardrails.rules.map((rule, index) => compileRule(rule, index, keys));
  const rules = outcomes.flatMap((outcome) => (outcome.kind === "compiled" ? [outcome.rule] : []));
  const refusals = outcomes.flatMap((outcome) => (outcome.kind === "refused" ? outcome.problems : []));
  const refining = {
    scoreThreshold: guardrails.score_threshold ?? 0,
    agreementBoost: guardrails.agreement_boost,
    conflicts: guardrails.conflicts,
    allows: allowList.allows,
    keepsTrace: guardrails.explain,
    issued,
  };
  const defaultPolicy = compilePopulation(undefined, rules, facts, refining);
  const byProfile = new Map(
    facts.profiles.map(({ name, detectors }) => [
      name,
      detectors === undefined ? defaultPolicy : compilePopulation(detectors, rules, facts, refining),
    ]),
  );
  return {
    of: (profile) => (profile === undefined ? defaultPolicy : (byProfile.get(profile) ?? defaultPolicy)),
    problems: [...allowList.problems, ...refusals, ...ruleProblems(guardrails, facts, rules, keys)],
  };
}

function compilePopulation(
  selected: readonly string[] | undefined,
  rules: readonly CompiledRule[],
  facts: PolicyFacts,
  refining: Omit<RefineOptions, "members">,
): GuardrailPolicy {
  const inForce = facts.detectors.filter(({ name }) => selected === undefined || selected.includes(name));
  const members = new Map<string, Member>(
    inForce.map(({ name, type }, order) => [name, { order, isVerdict: VERDICT_TYPES.has(type) }]),
  );
  const refineOptions = { ...refining, members };
  // An empty selection exempts the profile from rules that read detectors. A rule that reads only the route or the key stays.
  const activeRules = rules.filter(
    ({ requires }) => members.size > 0 || facts.detectors.length === 0 || requires?.size === 0,
  );
  const rulesInForce: RulesInForce = { ...groupByView(activeRules), refining: refineOptions };
  return {
    detectors: [...members.keys()],
    rules: activeRules.map(({ rule }) => rule.name),
    annotate: (inspected, scoreThreshold = refineOptions.scoreThreshold) =>
      annotateFindings(inspected, { ...refineOptions, scoreThreshold }),
    open: (occasion) => openInspection(rulesInForce, occasion),
    weigh: (found, variables) => weighRules(rulesInForce, found, variables),
    judge: (inspected, occasion) => openInspection(rulesInForce, occasion).judge(inspected),
  };
}

function groupByView(rules: readonly CompiledRule[]): Pick<RulesInForce, "rules" | "views"> {
  const viewIndexes = new Map<string, number>();
  const views: (ReadonlySet<string> | undefined)[] = [];
  const placed = rules.map((rule) => {
    const key = rule.requires === undefined ? "all" : JSON.stringify([...rule.requires].sort());
    const view = viewIndexes.get(key) ?? views.length;
    if (view === views.length) views.push(rule.requires);
    viewIndexes.set(key, view);
    return { rule, view };
  });
  return { rules: placed, views };
}
