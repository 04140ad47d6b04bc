/** Compiles `guardrails` of a document for every profile. */

import type { CompiledPolicy, GuardrailPolicy, Guardrails, PolicyFacts } from "../index.ts";
import { compileAllowList } from "./allow-list.ts";
import { annotated, type Refining } from "./annotate.ts";
import { type Member, VERDICT_TYPES } from "./finding-candidates.ts";
import { type CompiledRule, compileRule } from "./guardrail-rule.ts";
import { openInspection, type RulesInForce } from "./judge-texts.ts";
import { operatorKeys } from "./operators/index.ts";
import { ruleProblems } from "./policy-checks.ts";
import { weighRules } from "./weigh.ts";

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
  const whole = population(undefined, rules, facts, refining);
  const byProfile = new Map(
    facts.profiles.map(({ name, detectors }) => [
      name,
      detectors === undefined ? whole : population(detectors, rules, facts, refining),
    ]),
  );
  return {
    of: (profile) => (profile === undefined ? whole : (byProfile.get(profile) ?? whole)),
    problems: [...allowList.problems, ...refusals, ...ruleProblems(guardrails, facts, rules, keys)],
  };
}

function population(
  selected: readonly string[] | undefined,
  rules: readonly CompiledRule[],
  facts: PolicyFacts,
  refining: Omit<Refining, "members">,
): GuardrailPolicy {
  const inForce = facts.detectors.filter(({ name }) => selected === undefined || selected.includes(name));
  const members = new Map<string, Member>(
    inForce.map(({ name, type }, order) => [name, { order, isVerdict: VERDICT_TYPES.has(type) }]),
  );
  const own = { ...refining, members };
  // An empty selection exempts the profile from rules that read detectors. A rule that reads only the route or the key stays.
  const activeRules = rules.filter(
    ({ requires }) => members.size > 0 || facts.detectors.length === 0 || requires?.size === 0,
  );
  const rulesInForce: RulesInForce = { ...viewsOf(activeRules), refining: own };
  return {
    detectors: [...members.keys()],
    rules: activeRules.map(({ rule }) => rule.name),
    annotate: (inspected, scoreThreshold = own.scoreThreshold) => annotated(inspected, { ...own, scoreThreshold }),
    open: (occasion) => openInspection(rulesInForce, occasion),
    weigh: (found, variables) => weighRules(rulesInForce, found, variables),
    judge: (inspected, occasion) => openInspection(rulesInForce, occasion).judge(inspected),
  };
}

function viewsOf(rules: readonly CompiledRule[]): Pick<RulesInForce, "rules" | "views"> {
  const places = new Map<string, number>();
  const views: (ReadonlySet<string> | undefined)[] = [];
  const placed = rules.map((rule) => {
    const key = rule.requires === undefined ? "all" : JSON.stringify([...rule.requires].sort());
    const view = places.get(key) ?? views.length;
    if (view === views.length) views.push(rule.requires);
    places.set(key, view);
    return { rule, view };
  });
  return { rules: placed, views };
}
