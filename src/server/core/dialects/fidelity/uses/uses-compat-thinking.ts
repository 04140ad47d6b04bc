/**
 * Reads the thinking settings of a chat completion request: an effort, or the extensions. Source: dialects reference, 3.1, 8.1.
 */

import { objectOf, type Values } from "../../json/json-values.ts";
import type { Form } from "../../routes/routes.ts";
import { CHAT } from "../known-fields.ts";
import type { UseList } from "./use-list.ts";

const EFFORTS: ReadonlySet<unknown> = new Set(["none", "minimal", "low", "medium", "high", "xhigh", "max"]);

/** Reads an effort. A chat provider gets any value unchanged. */
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
  uses.checkMembers(reasoning, CHAT.reasoning, "reasoning");
}

/** Records that the extension's effort is dropped if the request has two different efforts. */
export function readSecondEffort(request: Values, uses: UseList): void {
  const first = request.reasoning_effort;
  const second = objectOf(request.reasoning)?.effort;
  if (typeof first === "string" && typeof second === "string" && first !== second) {
    uses.lose("effort", "reasoning.effort");
  }
}

/** Minimum thinking budget of a messages provider, in tokens. A smaller value is raised to it. */
const MIN_BUDGET = 1024;

/**
 * Reads the thinking budget. `bound` is the maximum number of answer tokens, thinking included; it is raised if thinking would
 * use it up.
 */
export function readBudget(request: Values, bound: unknown, uses: UseList): void {
  const thinking = objectOf(request.thinking);
  const requestedTokens = objectOf(request.reasoning)?.max_tokens;
  const [budget, place] =
    thinking === undefined
      ? [requestedTokens, "reasoning.max_tokens"]
      : [thinking.budget_tokens, "thinking.budget_tokens"];
  const isUnbounded = typeof bound !== "number";
  if (typeof budget === "number" && (budget < MIN_BUDGET || !(isUnbounded || budget < bound))) {
    uses.lose("thinking_budget", place);
  }
  if (thinking !== undefined && typeof requestedTokens === "number")
    uses.lose("thinking_budget", "reasoning.max_tokens");
}
