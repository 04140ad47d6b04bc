/** Finds rules of a policy that no case decided, and that are therefore untested. */

import type { Layer, Policies } from "../../server/core/policy/index.ts";
import { layerName } from "./expected-outcome.ts";
import { actingRules, type GuardrailJudgement } from "./guardrail-cases.ts";
import type { Judgement } from "./judge-case.ts";

export interface Coverage {
  readonly rules: number;
  /** Rules that decided no case, in the order of evaluation, such as `name (deployment)`. */
  readonly undecided: readonly string[];
}

/** Computes the coverage. `guardrails`: names of the guardrail rules. */
export function coverageOf(
  judgements: readonly (Judgement | GuardrailJudgement)[],
  { rules }: Policies,
  guardrails: readonly string[],
): Coverage {
  const key = (rule: string, layer: Layer): string => `${rule} ${layerName(layer)}`;
  const guardrailKey = (rule: string): string => `${rule} (guardrails)`;
  const decided = new Set(
    judgements.flatMap((judgement) =>
      "rehearsal" in judgement
        ? actingRules(judgement.rehearsal).map(guardrailKey)
        : judgement.deciders.map(({ rule, layer }) => key(rule, layer)),
    ),
  );
  const names = [...rules.map(({ rule, layer }) => key(rule.name, layer)), ...guardrails.map(guardrailKey)];
  return { rules: names.length, undecided: names.filter((name) => !decided.has(name)) };
}
