/**
 * Checks of `budgets[]` and `profiles[]`: the names that they refer to, and the keys of `cost` that belong to its type. Spec:
 * document 3. Lengths of windows, expressions and capabilities are checked where they are compiled.
 */

import { type Problem, shown } from "../../problem.ts";
import { type Check, unknownName, unknownNames } from "./check.ts";

export const checkBudgets: Check = ({ budgets }, problem) =>
  (budgets ?? []).flatMap(({ cost }, at) => {
    const found: Problem[] = [];
    const isExpression = cost?.type === "CEL";
    if (isExpression && cost.cel === undefined) {
      found.push(problem(["budgets", at, "cost"], "cost of type `CEL` needs the expression in `cel`"));
    }
    if (!isExpression && cost?.cel !== undefined) {
      found.push(problem(["budgets", at, "cost", "cel"], "`cel` is read only with `type: CEL`"));
    }
    return found;
  });

export const checkProfiles: Check = ({ profiles, budgets, providers, guardrails }, problem) => {
  const budgetNames = new Set((budgets ?? []).map(({ name }) => name));
  const subsets = new Set(providers.flatMap(({ pool }) => (pool?.subsets ?? []).map(({ name }) => name)));
  const detectors = new Set((guardrails?.detectors ?? []).map(({ name, type }) => name ?? type));
  return (profiles ?? []).flatMap(({ budget, pool_subset, guardrails: selection }, at) => {
    const path = ["profiles", at];
    const found: Problem[] = [];
    if (budget && !budgetNames.has(budget)) {
      found.push(problem([...path, "budget"], unknownName("budget", budget, budgetNames)));
    }
    if (pool_subset && !subsets.has(pool_subset)) {
      found.push(problem([...path, "pool_subset"], unknownName("subset of a pool", pool_subset, subsets)));
    }
    const selected = selection?.detectors ?? [];
    found.push(...unknownNames("detector", selected, detectors, [...path, "guardrails", "detectors"], problem));
    return found;
  });
};

/**
 * Reports a detector that a profile leaves out although a rule reads it. An empty selection exempts the profile from guardrails
 * completely and is allowed.
 */
export const checkOmittedDetectors: Check = ({ profiles, guardrails }, problem) => {
  const detectors = (guardrails?.detectors ?? []).map(({ name, type }) => name ?? type);
  return (profiles ?? []).flatMap((profile, at) => {
    const selected = new Set(profile.guardrails?.detectors ?? []);
    if (selected.size === 0) return [];
    const path = ["profiles", at, "guardrails", "detectors"];
    return (guardrails?.rules ?? []).flatMap((rule) => {
      const missing = (rule.requires ?? detectors).filter((name) => detectors.includes(name) && !selected.has(name));
      if (missing.length === 0) return [];
      const cause = rule.requires === undefined ? "has no `requires`, so it needs every detector" : "requires it";
      return [
        problem(
          path,
          `detector ${shown(missing[0] ?? "")} cannot be left out: guardrail rule ${shown(rule.name)} ${cause}`,
        ),
      ];
    });
  });
};
