/** Applies access rules to a recorded request. If a rule reads something that is not recorded, the result is unknown. */
import type { AccessPolicy, Decision, Hop, HopVariables, Verdict } from "../core/policy/index.ts";
import type { Refusal, Step } from "../core/rehearsal/index.ts";

/** Variables that are not recorded, with their names in messages. */
const UNRECORDED: Readonly<Record<string, string>> = {
  args: "arguments",
  task_id: "task ids",
  context_id: "context ids",
  parts: "parts of messages",
};

/**
 * Judges the rules of a traffic type. `variables` are the recorded ones; reading another one is noticed and makes the result
 * unknown.
 */
export function rulesStep<At extends Hop>(policy: AccessPolicy, hop: At, variables: Partial<HopVariables[At]>): Step {
  if (policy.count[hop] === 0) return { kind: "passed" };
  let currentRule: Decision | undefined;
  let unrecorded: { readonly rule: Decision | undefined; readonly what: string } | undefined;
  const watchedVariables = { ...variables };
  for (const [name, what] of Object.entries(UNRECORDED)) {
    if (name in watchedVariables) continue;
    Object.defineProperty(watchedVariables, name, {
      enumerable: true,
      get() {
        unrecorded ??= { rule: currentRule, what };
        return undefined;
      },
    });
  }
  const verdict = policy.decide(hop, watchedVariables as HopVariables[At], (rule) => {
    currentRule = rule;
  });
  if (unrecorded !== undefined) {
    const { rule, what } = unrecorded;
    const name = rule === undefined ? "" : ` \`${ruleName(rule)}\``;
    return { kind: "unknown", reason: `rule${name} reads ${what}`, decidedBy: ["access_rules", "profiles"] };
  }
  return verdictStep(verdict);
}

function verdictStep(verdict: Verdict): Step {
  if (verdict.kind === "allow") return { kind: "passed" };
  return { kind: "refused", code: verdict.code, by: `rule ${ruleName(verdict.by)}` } satisfies Refusal;
}

/** Returns the rule's name in the form of the refusals list. */
const ruleName = ({ rule, layer }: Pick<Decision, "rule" | "layer">): string =>
  layer.kind === "profile" ? `profile ${layer.profile}/${rule}` : rule;
