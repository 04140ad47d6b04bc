/**
 * Implements `format: guard_safety`: guard models that take an operator's policy and answer with a safety line and
 * categories. Source: judge-formats reference, 4.
 */
import { meaningsOf } from "./meanings.ts";
import { markerFor, quoted } from "./quote.ts";
import {
  invalidAnswer,
  type JudgedText,
  type JudgeFormat,
  type JudgeQuestion,
  type JudgeTerms,
  type Verdict,
} from "./types.ts";

export function safetyFormat({ labels, prompt }: JudgeTerms): JudgeFormat {
  const meanings = meaningsOf(labels, prompt);
  const lineOf = (label: string): string => {
    const meaning = meanings.get(label);
    return meaning === undefined ? `- ${label}` : `- ${label} (${meaning})`;
  };
  const taxonomy = `${labels.map(lineOf).join("\n")}\n\n${prompt}`;
  const asking = (turns: JudgeQuestion["turns"], custom: string): JudgeQuestion => ({
    system: undefined,
    turns,
    template: {
      variables: { enable_thinking: false, request_categories: "/categories", custom_taxonomy: custom },
      parts: false,
    },
  });
  return {
    buildQuestion: (judged) => asking(turnsOf(judged), taxonomy),
    parseAnswer: (text, judged) => categoriesIn(text, labels, isAnswer(judged)),
    buildProbe: (text, policy) =>
      asking(
        [{ role: "user", text }],
        policy === "own" ? taxonomy : `- PROBE (a category that tells whether categories reach the model)\n${taxonomy}`,
      ),
  };
}

/** Returns whether the text is an answer that is judged together with the user's message. */
const isAnswer = ({ kind, context }: JudgedText): boolean =>
  (kind === "output" || kind === "assistant") && context.some((block) => block.kind === "user");

function turnsOf(judged: JudgedText): JudgeQuestion["turns"] {
  const { text, context } = judged;
  if (context.length === 0) return [{ role: "user", text }];
  const marker = markerFor([text, ...context.map((block) => block.text)]);
  const isSingle = context.length === 1;
  if (isAnswer(judged)) {
    const shown = isSingle
      ? (context[0]?.text ?? "")
      : context.map((block) => quoted(marker, block.kind, block.text)).join("\n\n");
    return [
      { role: "user", text: shown },
      { role: "assistant", text },
    ];
  }
  const blocks = context.map((block) => quoted(marker, `CONTEXT ${block.kind}`, block.text));
  return [{ role: "user", text: [...blocks, quoted(marker, "TEXT", text)].join("\n\n") }];
}

const KEYS: ReadonlyMap<string, "user" | "response" | "either" | "categories"> = new Map([
  ["user safety", "user"],
  ["response safety", "response"],
  ["safety", "either"],
  ["safety categories", "categories"],
  ["categories", "categories"],
]);

function categoriesIn(text: string, labels: readonly string[], isOfAnswer: boolean): readonly Verdict[] {
  const lines = new Map<string, string>();
  for (const line of text.split(/\r?\n/)) {
    if (line.trim() === "") continue;
    const colon = line.indexOf(":");
    const key = KEYS.get(line.slice(0, Math.max(0, colon)).trim().toLowerCase().replace(/\s+/g, " "));
    if (key === undefined) throw invalidAnswer("has a line that is not of its form");
    if (lines.has(key)) throw invalidAnswer("says the same twice");
    lines.set(key, line.slice(colon + 1).trim());
  }
  for (const key of ["user", "response", "either"]) {
    const safety = lines.get(key)?.toLowerCase();
    if (safety !== undefined && safety !== "safe" && safety !== "unsafe") {
      throw invalidAnswer("has a verdict that is neither `safe` nor `unsafe`");
    }
  }
  const own = lines.get(isOfAnswer ? "response" : "user");
  const either = lines.get("either");
  if (own !== undefined && either !== undefined) throw invalidAnswer("says the same twice");
  const verdict = (own ?? either)?.toLowerCase();
  if (verdict === undefined) throw invalidAnswer("has no verdict on what was judged");
  if (verdict === "safe") return [];
  const categories = lines.get("categories");
  if (categories === undefined || categories === "") {
    if (labels.length !== 1) throw invalidAnswer("is `unsafe` and names no category");
    return [{ label: labels[0] as string, score: 1 }];
  }
  const named = categories.split(",").map((category) => {
    const name = normal(category.trim().replace(/\s*\([^()]*\)$/, ""));
    const label = labels.find((one) => normal(one) === name);
    if (label === undefined) {
      throw invalidAnswer("names a category that is not configured: does its server pass `chat_template_kwargs` on?");
    }
    return label;
  });
  return [...new Set(named)].map((label) => ({ label, score: 1 }));
}

export const normal = (name: string): string => name.trim().toUpperCase().replace(/[ /-]/g, "_");
