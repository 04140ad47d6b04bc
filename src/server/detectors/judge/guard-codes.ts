/**
 * Implements `format: guard_codes`: guard models that take categories S1 to Sn and answer with codes. Source:
 * judge-formats reference, 3.
 */
import { meaningsOf } from "./meanings.ts";
import { invalidAnswer, type JudgeFormat, type JudgeQuestion, type JudgeTerms, type Verdict } from "./types.ts";

/** Maximum number of codes; the template's codes have at most two digits. */
export const MAX_CODES = 99;

export function codesFormat({ labels, prompt }: JudgeTerms): JudgeFormat {
  const meanings = meaningsOf(labels, prompt);
  const categories = Object.fromEntries(
    labels.map((label, at) => [`S${at + 1}`, `${label}.\n${meanings.get(label) ?? ""}`.trimEnd()]),
  );
  const asking = (text: string, own: Readonly<Record<string, string>>): JudgeQuestion => ({
    system: undefined,
    turns: [{ role: "user", text }],
    template: { variables: { categories: own }, parts: true },
  });
  return {
    buildQuestion: ({ text }) => asking(text, categories),
    parseAnswer: (text) => codesIn(text, labels),
    buildProbe: (text, policy) =>
      asking(
        text,
        policy === "own"
          ? categories
          : {
              ...categories,
              [`S${labels.length + 1}`]: "PROBE.\nA category that tells whether categories reach the model.",
            },
      ),
  };
}

function codesIn(text: string, labels: readonly string[]): readonly Verdict[] {
  const [first = "", codes, ...more] = text.split(/\r?\n/).map((line) => line.trim());
  const verdict = first.toLowerCase();
  if (verdict === "safe" && codes === undefined) return [];
  if (verdict === "safe") throw invalidAnswer("says more than `safe`");
  if (verdict !== "unsafe") throw invalidAnswer("begins with neither `safe` nor `unsafe`");
  if (more.length > 0) throw invalidAnswer("says more than `unsafe` and its codes");
  const only = labels.length === 1 ? labels[0] : undefined;
  if (codes === undefined || codes === "") {
    if (only === undefined) throw invalidAnswer("is `unsafe` and names no code");
    return [{ label: only, score: 1 }];
  }
  const named = codes.split(",").map((code) => {
    const match = /^S([1-9]\d?)$/.exec(code.trim().toUpperCase());
    const label = match === null ? undefined : labels[Number(match[1]) - 1];
    if (label === undefined) throw invalidAnswer("names a code of no configured label");
    return label;
  });
  return [...new Set(named)].map((label) => ({ label, score: 1 }));
}
