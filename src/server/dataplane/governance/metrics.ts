/** Metrics of rule decisions. Names come from the configuration. */
import type { Instruments } from "../../../base/index.ts";

export interface DecisionMetrics {
  /** Counts a decision. `profile`: profile of the rule; empty for a rule of the deployment. */
  countDecision(rule: string, profile: string, action: "allow" | "deny"): void;
  countError(rule: string, profile: string, error: string): void;
}

export function createDecisionMetrics(instruments: Instruments): DecisionMetrics {
  const decisions = instruments.counter(
    "gateway_access_decisions_total",
    "Requests that an access rule matched. `profile` is empty for rules of the deployment.",
    ["rule", "profile", "action"],
  );
  const errors = instruments.counter("gateway_access_rule_errors_total", "Errors while access rules were evaluated.", [
    "rule",
    "profile",
    "error",
  ]);
  return {
    countDecision: (rule, profile, action) => decisions.with(rule, profile, action).inc(),
    countError: (rule, profile, error) => errors.with(rule, profile, error).inc(),
  };
}
