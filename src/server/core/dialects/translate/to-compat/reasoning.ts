/**
 * Determines the reasoning effort for a compat provider from the client's thinking and effort. Source: dialects reference, 8.2.
 */
import type { Values } from "../../json/json-values.ts";
import { effortOf } from "../effort.ts";
import { optionalNumber, optionalObject, optionalText } from "../required-members.ts";
import type { ChannelTerms } from "../types.ts";

const THINKING_TYPES: ReadonlySet<unknown> = new Set(["enabled", "adaptive", "between_tools"]);

/**
 * Returns the effort, or `undefined` to leave it to the provider. An effort that the client named takes precedence over one
 * derived from a budget.
 */
export function reasoningEffort(request: Values, claims: ChannelTerms["claims"]): string | undefined {
  const thinking = optionalObject(request["thinking"], "thinking");
  const output = optionalObject(request["output_config"], "output_config");
  const effort = optionalText(output?.["effort"], "output_config.effort");
  const budget = optionalNumber(thinking?.["budget_tokens"], "thinking.budget_tokens");
  if (thinking?.["type"] === "disabled") return claims("thinking") ? "none" : undefined;
  if (effort !== undefined && claims("effort")) return effort;
  return thinking?.["type"] === "enabled" && budget !== undefined && claims("thinking") ? effortOf(budget) : undefined;
}

/** Returns whether the client asked for thinking and wants to see it. */
export function showsThinking(request: Values): boolean {
  const thinking = optionalObject(request["thinking"], "thinking");
  return THINKING_TYPES.has(thinking?.["type"]) && thinking?.["display"] !== "omitted";
}
