/**
 * `restore` of what is fronted: which values are turned back, and how. Loaded with the policy, since it shares the keys.
 * Source: specification document 3, `mcp[]`, `a2a[]`; guardrails reference, 4.3.
 */
import type { Deployment, Guardrails } from "../core/config/index.ts";
import type { GuardrailProblem } from "../core/guardrails/index.ts";
import { alphabetOf, operatorKeys, RestoreLimit, restore } from "../core/guardrails/policy/index.ts";
import type { GuardrailSnapshot } from "./guardrails.ts";

/** Of one message; a tenth of a second. */
const MOST_DECRYPTIONS = 2_000;

/** Types that no value can be encrypted of. */
export function restoreProblems({ guardrails, mcp = [], a2a = [] }: Deployment): readonly GuardrailProblem[] {
  const alphabets = guardrails?.fpe_alphabets ?? {};
  const hops = [
    ...mcp.map((hop, at) => ({ hop, path: ["mcp", at] })),
    ...a2a.map((hop, at) => ({ hop, path: ["a2a", at] })),
  ];
  return hops.flatMap(({ hop, path }) =>
    (hop.restore ?? []).flatMap((type, at): readonly GuardrailProblem[] =>
      alphabetOf(type, alphabets) !== undefined
        ? []
        : [
            {
              severity: "error",
              path: [...path, "restore", at],
              message: `${type} has no alphabet that \`fpe\` could write it in; give it one in \`guardrails.fpe_alphabets\``,
            },
          ],
    ),
  );
}

export function compileRestorer(guardrails: Guardrails): GuardrailSnapshot["restorer"] {
  const { fpe, alphabets } = operatorKeys(guardrails);
  return (names) => {
    const types = [...names].flatMap((type) => {
      const alphabet = alphabetOf(type, alphabets);
      return alphabet === undefined ? [] : [{ type, alphabet }];
    });
    if (fpe === undefined || types.length === 0) return undefined;
    return (texts) => {
      const budget = { left: MOST_DECRYPTIONS };
      const counts: Record<string, number> = {};
      try {
        const restored = texts.map((text) => {
          const one = restore(text, types, fpe, budget);
          for (const [type, count] of Object.entries(one.counts)) counts[type] = (counts[type] ?? 0) + count;
          return one.text;
        });
        return { texts: restored, counts };
      } catch (error) {
        if (error instanceof RestoreLimit) return undefined;
        throw error;
      }
    };
  };
}
