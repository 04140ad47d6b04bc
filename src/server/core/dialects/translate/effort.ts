/** Effort by the least budget of thinking that asks for it, in tokens. Source: dialects reference, 8.2. */
const BUDGETS: readonly (readonly [minBudget: number, effort: "high" | "medium"])[] = [
  [10_000, "high"],
  [5_000, "medium"],
];

/** `low` at least: there is a `minimal` below, which not every provider knows. */
export function effortOf(budget: number): "low" | "medium" | "high" {
  return BUDGETS.find(([minBudget]) => budget >= minBudget)?.[1] ?? "low";
}
