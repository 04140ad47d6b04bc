/**
 * Compiles `restore` of fronted servers and agents: which values are restored, and how. Loaded with the policy, since both use
 * the same keys. Source: specification document 3, `mcp[]`, `a2a[]`; design decisions, section 20.
 */
import type { Deployment, Guardrails } from "../core/config/index.ts";
import type { FormatOf, GuardrailProblem, IssuedValues } from "../core/guardrails/index.ts";
import {
  alphabetOf,
  feasibilityOf,
  operatorKeys,
  proofOf,
  type RestorableType,
  RestoreLimit,
  restore,
  restoredValues,
} from "../core/guardrails/policy/index.ts";
import type { GuardrailSnapshot } from "./compiled-guard.ts";

/** Maximum decryptions for one message, about a tenth of a second. */
const MAX_DECRYPTIONS = 2_000;

/**
 * Reports types whose values cannot be encrypted, or cannot be recognized later. A type whose values carry no proof of their
 * origin is a warning.
 */
export function restoreProblems(
  { guardrails, mcp = [], a2a = [] }: Deployment,
  formatOf: FormatOf,
): readonly GuardrailProblem[] {
  const { alphabets, fpe } = operatorKeys(guardrails ?? { fpe_alphabets: {} }, formatOf);
  const hops = [
    ...mcp.map((hop, at) => ({ hop, path: ["mcp", at] })),
    ...a2a.map((hop, at) => ({ hop, path: ["a2a", at] })),
  ];
  const judged = (type: string): Pick<GuardrailProblem, "severity" | "message"> | undefined => {
    const alphabet = alphabetOf(type, alphabets);
    if (alphabet === undefined) {
      const message = `${type} has no alphabet for \`fpe\`; add one in \`guardrails.fpe_alphabets\``;
      return { severity: "error", message };
    }
    const format = formatOf(type);
    const proof = proofOf({ type, alphabet }, formatOf);
    if (format === undefined || proof === undefined) {
      const message = `no recognizer of the document has a pattern for ${type}, so its values cannot be found in a text; add one in \`custom_recognizers\``;
      return { severity: "error", message };
    }
    const isOwn = Object.hasOwn(alphabets, type);
    const { reason } = (isOwn && fpe && feasibilityOf(type, alphabet, fpe, format)) || {};
    if (reason !== undefined) {
      return { severity: "error", message: `\`fpe\` cannot keep the format of ${type}: ${reason}` };
    }
    if (proof !== "none") return undefined;
    const message = `nothing proves that a value of ${type} was encrypted: whatever matches its pattern is turned back, also what never was. Name it only where every such value is encrypted, or give its recognizer a \`validator\``;
    return { severity: "warning", message };
  };
  const known = new Map<string, ReturnType<typeof judged>>();
  return hops.flatMap(({ hop, path }) =>
    (hop.restore ?? []).flatMap((type, at): readonly GuardrailProblem[] => {
      if (!known.has(type)) known.set(type, judged(type));
      const found = known.get(type);
      return found === undefined ? [] : [{ ...found, path: [...path, "restore", at] }];
    }),
  );
}

export function compileRestorer(
  guardrails: Guardrails,
  formatOf: FormatOf,
  issued: IssuedValues,
): GuardrailSnapshot["restorer"] {
  const { fpe, alphabets } = operatorKeys(guardrails, formatOf, issued);
  return (names) => {
    const types = [...names].flatMap((type): readonly RestorableType[] => {
      const alphabet = alphabetOf(type, alphabets);
      return alphabet === undefined ? [] : [{ type, alphabet }];
    });
    if (fpe === undefined || types.length === 0) return undefined;
    const restoring = { fpe, formatOf, issued };
    return {
      restore(texts) {
        const budget = { remaining: MAX_DECRYPTIONS };
        const counts: Record<string, number> = {};
        return within(() => {
          const restored = texts.map((text) => {
            const one = restore(text, types, restoring, budget);
            for (const [type, count] of Object.entries(one.counts)) counts[type] = (counts[type] ?? 0) + count;
            return one.text;
          });
          return { texts: restored, counts };
        });
      },
      placesIn(text) {
        const budget = { remaining: MAX_DECRYPTIONS };
        const turned = within(() => restoredValues(text, types, restoring, budget)) ?? [];
        return turned.filter(({ proof }) => proof === "issued" || proof === "check");
      },
    };
  };
}

/** Returns the result of `work`, or `undefined` if there are more candidates than the maximum. */
function within<Value>(work: () => Value): Value | undefined {
  try {
    return work();
  } catch (error) {
    if (error instanceof RestoreLimit) return undefined;
    throw error;
  }
}
