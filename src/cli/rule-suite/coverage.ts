/** Which rules of a policy no case decided: a rule that nobody has shown to work may as well not be there. */

import type { Layer, Policies } from "../../server/core/policy/index.ts";
import { layerName } from "./expected.ts";
import { actedIn, type GuardrailJudgement } from "./guardrail-cases.ts";
import type { Judgement } from "./judge.ts";

export interface Coverage {
  readonly rules: number;
  /** Rules that decided in none of the judgements, in the order of evaluation: `name (deployment)`. */
  readonly undecided: readonly string[];
}

/** `guardrails`: names of the guardrail rules. */
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
        ? actedIn(judgement.rehearsal).map(guardrailKey)
        : judgement.deciders.map(({ rule, layer }) => key(rule, layer)),
    ),
  );
  const names = [...rules.map(({ rule, layer }) => key(rule.name, layer)), ...guardrails.map(guardrailKey)];
  return { rules: names.length, undecided: names.filter((name) => !decided.has(name)) };
}
