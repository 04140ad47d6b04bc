/** What a chat completion request says of thinking: by effort, or by the extensions. Source: dialects reference, 3.1, 8.1. */
import type { Form } from "../routes.ts";
import { objectOf, type Values } from "../values.ts";
import { CHAT } from "./known-fields.ts";
import type { UseList } from "./use-list.ts";

const EFFORTS: ReadonlySet<unknown> = new Set(["none", "minimal", "low", "medium", "high", "xhigh", "max"]);

/** `to`: a chat provider is told any word as it is. */
export function readEffort(value: unknown, place: string, uses: UseList, to: Form = "messages"): void {
  if (typeof value !== "string") return;
  uses.add("effort", place);
  if (value !== "none") uses.add("thinking", place);
  if (to === "messages" && !EFFORTS.has(value)) uses.lose("effort", place);
}

export function readReasoning(value: unknown, uses: UseList): void {
  const reasoning = objectOf(value);
  if (reasoning === undefined) return;
  readEffort(reasoning.effort, "reasoning.effort", uses);
  if (typeof reasoning.max_tokens === "number") {
    uses.add("thinking", "reasoning.max_tokens");
    uses.add("thinking_budget", "reasoning.max_tokens");
  }
  if (reasoning.enabled === true) uses.add("thinking", "reasoning.enabled");
  if (reasoning.exclude === true) uses.lose("hint", "reasoning.exclude");
  uses.expect(reasoning, CHAT.reasoning, "reasoning");
}

/** Of two efforts, the extension's is not told. */
export function readSecondEffort(request: Values, uses: UseList): void {
  const first = request.reasoning_effort;
  const second = objectOf(request.reasoning)?.effort;
  if (typeof first === "string" && typeof second === "string" && first !== second) {
    uses.lose("effort", "reasoning.effort");
  }
}

/** Of a messages provider's thinking, tokens. What is less is raised to it. */
const MIN_BUDGET = 1024;

/** `bound`: of the answer, thinking included; one that thinking would use up is raised. */
export function readBudget(request: Values, bound: unknown, uses: UseList): void {
  const thinking = objectOf(request.thinking);
  const asked = objectOf(request.reasoning)?.max_tokens;
  const [budget, place] =
    thinking === undefined ? [asked, "reasoning.max_tokens"] : [thinking.budget_tokens, "thinking.budget_tokens"];
  const isFree = typeof bound !== "number";
  if (typeof budget === "number" && (budget < MIN_BUDGET || !(isFree || budget < bound))) {
    uses.lose("thinking_budget", place);
  }
  if (thinking !== undefined && typeof asked === "number") uses.lose("thinking_budget", "reasoning.max_tokens");
}
