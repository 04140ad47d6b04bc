/** Lines of `-test-rules`: one per case, then the totals, then the rules that no case decided. */

import { type Expected, layerName } from "./expected-outcome.ts";
import { expectedGuardrailText, type GuardrailJudgement, guardrailText } from "./guardrail-cases.ts";
import type { Judgement, Outcome } from "./judge-case.ts";
import type { Coverage } from "./rule-coverage.ts";

/** Returns the line of a case. If it fails, the line has its place and what was expected. Without a line end. */
export function judgementLine(judgement: Judgement | GuardrailJudgement): string {
  const { case: it, passes } = judgement;
  const subject = `${it.suite}: ${it.name}`;
  const [outcome, expected] =
    "rehearsal" in judgement
      ? [guardrailText(judgement), expectedGuardrailText(judgement.case.expected)]
      : [outcomeText(judgement.outcome), expectedText(judgement.case.expected)];
  if (passes) return `ok    ${subject}: ${outcome}`;
  const { file, line, column } = it.place;
  return `fail  ${subject}: ${file}:${line}:${column}: expected ${expected}; ${outcome}`;
}

export function summaryLine(judgements: readonly Pick<Judgement, "passes">[]): string {
  const total = judgements.length;
  const passed = judgements.filter(({ passes }) => passes).length;
  const failed = total - passed;
  const sum = `${passed} ${passed === 1 ? "passes" : "pass"}, ${failed} ${failed === 1 ? "fails" : "fail"}`;
  return `${total === 1 ? "1 case" : `${total} cases`}: ${sum}`;
}

export function coverageLine({ rules, undecided }: Coverage): string {
  if (rules === 0) return "there are no rules";
  if (undecided.length > 0) return `rules without a case: ${undecided.join(", ")}`;
  return rules === 1 ? "the only rule has a case" : `all ${rules} rules have a case`;
}

function outcomeText(outcome: Outcome): string {
  switch (outcome.kind) {
    case "allow": {
      const by = outcome.decisions.map(({ rule, layer }) => `${rule} ${layerName(layer)}`);
      const passedOver = outcome.skipped.map(
        ({ provider, refusal }) => `; not sent to ${provider}, ${outcomeText(refusal)}`,
      );
      const failoverText = outcome.providers.slice(1).map((provider) => `, then ${provider}`);
      const to = outcome.providers.length === 0 ? "" : `; sent to ${outcome.providers[0]}${failoverText.join("")}`;
      return `allowed by ${by.length === 0 ? "no rule" : by.join(" and ")}${to}${passedOver.join("")}`;
    }
    case "deny":
      return `denied by ${outcome.by.rule} ${layerName(outcome.by.layer)}: ${outcome.message}`;
    case "error":
      return `refused by an error of ${outcome.by.rule} ${layerName(outcome.by.layer)}: ${outcome.by.detail}`;
    case "unlisted":
      return `denied by allowed_models (profile ${outcome.profile})`;
    case "unserved":
      return "no provider serves it";
    default:
      return outcome satisfies never;
  }
}

function expectedText({ expect, by, message, expectedProviders: reaches }: Expected): string {
  const layer = by?.kind === "rule" && by.layer !== undefined ? ` ${layerName(by.layer)}` : "";
  return [
    expect,
    ...(by === undefined ? [] : [`by ${by.kind === "rule" ? by.rule : by.kind}${layer}`]),
    ...(message === undefined ? [] : [`with the message ${JSON.stringify(message)}`]),
    ...(reaches === undefined ? [] : [`reaching ${reaches.join(", then ")}`]),
  ].join(" ");
}
