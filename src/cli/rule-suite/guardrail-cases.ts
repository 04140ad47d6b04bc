/**
 * Resolves and judges cases of guardrails: a text, and what the gateway's detectors and rules do with it. A case that
 * the gateway could never meet (an unknown rule or type) is a mistake of the suite: a case that tests nothing must not
 * pass.
 */

import type { Place } from "../../server/core/config/index.ts";
import { CATEGORIES, type Rehearsal, type RehearsalQuestion } from "../../server/core/guardrails/index.ts";
import { finderText, placeText, REMOVED_WORDS, unreadTexts } from "../guardrail-text.ts";
import type { Caller } from "./suite-callers.ts";
import type { CaseText, GivenText, GuardrailText } from "./suite-schema.ts";
import { didYouMean, type Fault, type Subject } from "./suite-subject.ts";

export interface GuardrailCase {
  readonly kind: "guardrail";
  readonly suite: string;
  readonly name: string;
  readonly place: Place;
  readonly question: RehearsalQuestion;
  readonly expected: ExpectedGuardrail;
}

interface ExpectedGuardrail {
  readonly expect: CaseText["expect"];
  readonly rule: string | undefined;
  readonly message: string | undefined;
  readonly rewritten: string | undefined;
  /** Every expected type, once each. */
  readonly types: readonly string[] | undefined;
}

export interface GuardrailJudgement {
  readonly case: GuardrailCase;
  readonly passes: boolean;
  readonly rehearsal: Rehearsal;
}

/** Resolves a case. Paths of faults are below the case. */
export function guardrailCase(
  text: CaseText,
  { kind = "user", text: caseText, model, route, given: givenFindings = {} }: GuardrailText,
  { variables, profile }: Caller,
  { guardrails: { inForce } }: Subject,
): { readonly of: Omit<GuardrailCase, "suite" | "name" | "place">; readonly faults: readonly Fault[] } {
  const { expect, by, message, rewritten, types } = text;
  const rule = typeof by === "object" ? by.rule : by;
  const question: RehearsalQuestion = {
    profile: profile.name,
    segments: [{ kind, text: caseText }],
    model,
    route,
    caller: variables,
    showsKeyed: true,
    stubFindings: parseGivenFindings(givenFindings),
  };
  const names = inForce.rules.map(({ name }) => name);
  const detectors = inForce.detectors.map(({ name }) => name);
  const faults: Fault[] = [];
  if (inForce.detectors.length + names.length === 0) {
    faults.push({ path: ["guardrail"], message: "the deployment has no `guardrails`" });
  } else if (rule !== undefined && !names.includes(rule)) {
    faults.push({ path: ["by"], message: `there is no such guardrail rule${didYouMean(rule, names)}` });
  }
  for (const [name, findings] of Object.entries(givenFindings)) {
    const path = ["guardrail", "given", name];
    if (!detectors.includes(name)) {
      faults.push({ path, message: `there is no such detector${didYouMean(name, detectors)}` });
    }
    for (const one of findings) {
      const { category, type } = findingOf(one);
      if (category !== undefined) continue;
      faults.push({ path, message: `the category of \`${type}\` is none of ${CATEGORIES.join(", ")}` });
    }
  }
  return { of: { kind: "guardrail", question, expected: { expect, rule, message, rewritten, types } }, faults };
}

type GivenFindings = NonNullable<RehearsalQuestion["stubFindings"]>;

/** Returns the given findings by detector; `undefined` if none are given. */
function parseGivenFindings(givenFindings: GivenText): GivenFindings | undefined {
  const byDetector = Object.entries(givenFindings).map(
    ([name, findings]) =>
      [
        name,
        findings.flatMap((one) => {
          const { category, label, score } = findingOf(one);
          return category === undefined ? [] : [{ category, label, score }];
        }),
      ] as const,
  );
  return byDetector.length === 0 ? undefined : new Map(byDetector);
}

function findingOf(one: GivenText[string][number]) {
  const { type, score = 1 } = typeof one === "string" ? { type: one } : one;
  const at = type.indexOf("/");
  return { type, category: CATEGORIES.find((it) => it === type.slice(0, at)), label: type.slice(at + 1), score };
}

export async function judgeGuardrail(
  it: GuardrailCase,
  { guardrails }: Subject,
  signal: AbortSignal,
): Promise<GuardrailJudgement> {
  const rehearsal = await guardrails.rehearse(it.question, signal);
  return { case: it, passes: isAsExpected(rehearsal, it.expected), rehearsal };
}

const outcomeOf = ({ decision, segments }: Rehearsal): CaseText["expect"] =>
  decision === "allow" && segments.some(({ rewritten }) => rewritten) ? "redact" : decision;

const typesOf = ({ findings }: Rehearsal): readonly string[] => [...new Set(findings.map(({ type }) => type))].sort();

/** Returns the rules that acted, and the one that could not be evaluated. */
export const actingRules = ({ decisions, rule }: Rehearsal): readonly string[] => [
  ...new Set([...decisions.map((it) => it.rule), ...(rule === null ? [] : [rule])]),
];

function isAsExpected(rehearsal: Rehearsal, { expect, rule, message, rewritten, types }: ExpectedGuardrail): boolean {
  return (
    outcomeOf(rehearsal) === expect &&
    (rule === undefined || (expect === "deny" ? rehearsal.rule === rule : actingRules(rehearsal).includes(rule))) &&
    (message === undefined || rehearsal.message === message) &&
    (rewritten === undefined || rehearsal.segments[0]?.text === rewritten) &&
    (types === undefined || [...new Set(types)].sort().join("\n") === typesOf(rehearsal).join("\n"))
  );
}

/** Describes the outcome for the text; if it was not expected, also what was found in it and what was removed. */
export function guardrailText({ rehearsal, passes }: GuardrailJudgement): string {
  const { decision, rule, message, segments, findings, removed } = rehearsal;
  const acted = actingRules(rehearsal);
  const by = `by ${acted.length === 0 ? "no rule" : acted.join(" and ")}`;
  const outcome =
    outcomeOf(rehearsal) === "redact"
      ? `rewritten ${by} to ${JSON.stringify(segments[0]?.text)}`
      : decision === "allow"
        ? `allowed ${by}`
        : `${decision === "deny" ? "denied by" : "refused by an error of"} ${rule ?? "a detector"}: ${message}`;
  if (passes) return outcome;
  const found = findings.map((one) => `${placeText(one)} (${one.score.toFixed(2)} by ${finderText(one)})`);
  const removedTexts = removed.map((one) => `${placeText(one)} (${REMOVED_WORDS[one.by]})`);
  return [
    outcome,
    found.length === 0 ? "nothing was found" : `found ${shortList(found)}`,
    ...(removedTexts.length === 0 ? [] : [`does not count: ${shortList(removedTexts)}`]),
    ...unreadTexts(rehearsal).map((line) => `not asked: ${line}`),
  ].join("; ");
}

/** Maximum number of findings shown on one line. */
const MAX_SHOWN = 8;

const shortList = (line: readonly string[]): string =>
  line.length <= MAX_SHOWN
    ? line.join(", ")
    : `${line.slice(0, MAX_SHOWN).join(", ")} and ${line.length - MAX_SHOWN} more`;

export function expectedGuardrailText({ expect, rule, message, rewritten, types }: ExpectedGuardrail): string {
  return [
    expect,
    ...(rule === undefined ? [] : [`by ${rule}`]),
    ...(message === undefined ? [] : [`with the message ${JSON.stringify(message)}`]),
    ...(rewritten === undefined ? [] : [`to ${JSON.stringify(rewritten)}`]),
    ...(types === undefined ? [] : [types.length === 0 ? "finding nothing" : `finding ${types.join(", ")}`]),
  ].join(" ");
}
