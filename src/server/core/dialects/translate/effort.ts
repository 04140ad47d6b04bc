/** Efforts by the minimum thinking budget for each, in tokens. Source: dialects reference, 8.2. */
const BUDGETS: readonly (readonly [minBudget: number, effort: "high" | "medium"])[] = [
  [10_000, "high"],
  [5_000, "medium"],
];

/** Returns the effort for a budget, at least `low`: not every provider knows `minimal`. */
export function effortOf(budget: number): "low" | "medium" | "high" {
  return BUDGETS.find(([minBudget]) => budget >= minBudget)?.[1] ?? "low";
}
