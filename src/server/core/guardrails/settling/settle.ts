/**
 * Settles a judged message: refuses or allows it, counts it, and records it if a rule acted or a shadow detector found
 * something. Shared by the data plane and the inspector. Source: specification document 1 (Errors); design decisions, sections 4
 * and 11.
 */
import type { Log } from "../../../../base/index.ts";
import { GatewayError } from "../../../../base/index.ts";
import type { Direction, Judgement, RuleDecision } from "../judgement.ts";
import type { Failure, GuardResult } from "../population-guard.ts";
import { type Annotation, MAX_MESSAGE_FINDINGS } from "../types.ts";
import type { GuardrailMetrics } from "./metrics.ts";

export type RecordValue =
  | string
  | number
  | boolean
  | null
  | readonly RecordValue[]
  | { readonly [name: string]: RecordValue };

export type RecordData = Readonly<Record<string, RecordValue>>;

/** Audit record of guardrails. It contains no prompt, no credential and no header value except the request id. */
export interface GuardrailRecord {
  readonly event: "guardrail.decision" | "guardrail.shadow";
  readonly controls: readonly string[];
  readonly data: RecordData;
}

export interface GuardrailTrail {
  /** Records an entry. Throws `audit_unavailable` if it cannot be recorded; the message is then refused. */
  record(record: GuardrailRecord): void;
}

export interface GuardrailSinks {
  /** Audit trail; `undefined` if nothing is recorded. */
  readonly trail: GuardrailTrail | undefined;
  readonly metrics: GuardrailMetrics;
  readonly log: Log;
}

export interface SettledMessage {
  /** Error; `undefined` if the message is allowed. */
  readonly error: GatewayError | undefined;
  /** Value of `x-gateway-guardrails`; empty if no rule acted. */
  readonly decisionsHeader: string;
}

/** Number of findings by detector and `<category>/<LABEL>`. */
export type FindingCounts = Readonly<Record<string, Readonly<Record<string, number>>>>;

/** Result of all judged pieces of one answer. */
export interface AnswerResult {
  readonly guarded: Pick<GuardResult, "judgement" | "failures">;
  readonly shadow: FindingCounts;
  /** Findings that rules read. */
  readonly found: FindingCounts;
  /** True if it is refused because it exceeds the inspection limit. */
  readonly isOversize: boolean;
}

/** Facts about the caller, for records. Built only if something is recorded, which is rare. */
export type Facts = RecordData & { readonly direction: Direction };

/** Settles a whole message. Throws `audit_unavailable` if a rule's action cannot be recorded. */
export function settleMessage(guarded: GuardResult, facts: () => Facts, sinks: GuardrailSinks): SettledMessage {
  return settle(guarded, countFindings(guarded.judgement?.shadow ?? []), facts, sinks);
}

/** Settles an answer once, at its end or refusal. Throws `audit_unavailable` if a rule's action cannot be recorded. */
export function settleAnswerResult(
  { guarded, shadow, isOversize }: Omit<AnswerResult, "found">,
  facts: () => Facts,
  sinks: GuardrailSinks,
): SettledMessage {
  const settled = settle(guarded, shadow, facts, sinks);
  if (!isOversize) return settled;
  const data = { ...facts(), decision: "deny", error: "oversize", rule: null };
  sinks.trail?.record({ event: "guardrail.decision", controls: [], data });
  const by = { kind: "guardrail", name: "response.on_oversize" } as const;
  const error = new GatewayError("guardrail_denied", "The answer is longer than guardrails can inspect.", { by });
  return { ...settled, error };
}

function settle(
  { judgement, failures }: AnswerResult["guarded"],
  shadow: FindingCounts,
  facts: () => Facts,
  { trail, metrics, log }: GuardrailSinks,
): SettledMessage {
  const fatal = failures.find(({ isFatal }) => isFatal);
  for (const failure of failures) metrics.logDetectorFailure(failure);
  if (judgement === undefined) {
    const failed = fatal ?? ({ detector: "", kind: "failed", reason: "", isFatal: true } as const);
    const data = { ...facts(), decision: "error", detector: failed.detector, error: failed.kind };
    trail?.record({ event: "guardrail.decision", controls: [], data });
    return { error: failureError(failed, data.direction), decisionsHeader: "" };
  }
  const { decisions, skipped } = judgement;
  for (const { rule, action } of decisions) metrics.countDecision(rule, action);
  for (const { rule, error, detail, part } of skipped) {
    metrics.countRuleError(rule, error);
    log.warn("a guardrail rule could not be evaluated and was skipped", { rule, part, detail });
  }
  if (judgement.outcome === "error") metrics.countRuleError(judgement.by.rule, judgement.by.error);
  if (judgement.fpeDomainTooSmall > 0) metrics.countDomainsTooSmall(judgement.fpeDomainTooSmall);
  recordShadow(shadow, facts, trail);
  if (judgement.outcome !== "allow" || decisions.length + skipped.length > 0) {
    trail?.record({
      event: "guardrail.decision",
      controls: controlsOf(judgement),
      data: { ...facts(), ...decisionOf(judgement) },
    });
  }
  return { error: errorOf(judgement, facts), decisionsHeader: formatDecisions(decisions) };
}

/** Returns the value of `x-gateway-guardrails`; empty if no rule acted. */
export const formatDecisions = (decisions: readonly RuleDecision[]): string => decisions.map(formatDecision).join(", ");

function errorOf(judgement: Judgement, facts: () => Facts): GatewayError | undefined {
  if (judgement.outcome === "allow") return undefined;
  const by = { kind: "guardrail", name: judgement.by.rule } as const;
  if (judgement.outcome === "deny") return new GatewayError("guardrail_denied", judgement.message, { by });
  if (judgement.by.excess !== undefined && facts().direction === "request") {
    return new GatewayError("body_too_large", `${judgement.message}: send it in parts.`, { by });
  }
  // The same request would cause the same fault, so clients must not retry it.
  return new GatewayError("policy_error", judgement.message, { by });
}

function failureError({ detector, kind }: Pick<Failure, "detector" | "kind">, direction: Direction): GatewayError {
  const by = { kind: "guardrail", name: `detector ${detector}` } as const;
  if (kind === "overloaded") {
    return new GatewayError("overloaded", `The guardrail detector ${detector} is overloaded.`, {
      by,
    });
  }
  if (kind === "excess" && direction === "response") {
    const message = `The guardrail detector ${detector} finds more than ${MAX_MESSAGE_FINDINGS} places in the answer.`;
    return new GatewayError("guardrail_error", message, { by });
  }
  if (kind === "excess") {
    const message = `The guardrail detector ${detector} finds more than ${MAX_MESSAGE_FINDINGS} places in the message: send it in parts.`;
    return new GatewayError("body_too_large", message, { by });
  }
  const what = kind === "timeout" ? "took too long" : "failed";
  return new GatewayError("guardrail_error", `The guardrail detector ${detector} ${what}.`, { by });
}

/**
 * Formats the decision for a header value. A name may contain any character, so characters that a header may not contain are
 * escaped.
 */
export const formatDecision = ({ rule, action }: RuleDecision): string =>
  `${rule.toWellFormed().replace(/[^!-~]|[%,=]/gu, encodeURIComponent)}=${action}`;

const controlsOf = (judgement: Judgement): readonly string[] => {
  const all = [...judgement.decisions, ...judgement.skipped, ...(judgement.outcome === "error" ? [judgement.by] : [])];
  return [...new Set(all.flatMap(({ controls }) => controls))];
};

/** Returns the decision as counts and names, never with a text. */
function decisionOf(judgement: Judgement): RecordData {
  const { outcome, decisions, skipped } = judgement;
  const by = outcome === "allow" ? decisions.at(-1) : judgement.by;
  return {
    decision: outcome,
    error: outcome === "error" ? judgement.by.error : null,
    matched: decisions.map(({ rule, action, types, kinds }) => ({ rule, action, types, kinds })),
    rule: by?.rule ?? null,
    skipped: skipped.map(({ rule }) => rule),
  };
}

/** Adds findings to `counts`. */
export function addFindingCounts(found: readonly Annotation[], counts: Record<string, Record<string, number>>): void {
  for (const { detector, category, label } of found) {
    const types = counts[detector] ?? {};
    counts[detector] = types;
    const type = `${category}/${label}`;
    types[type] = (types[type] ?? 0) + 1;
  }
}

function countFindings(found: readonly Annotation[]): FindingCounts {
  const counts: Record<string, Record<string, number>> = {};
  addFindingCounts(found, counts);
  return counts;
}

/**
 * Records findings of shadow detectors. An observation never refuses a message, even if it cannot be recorded; the trail itself
 * reports that it is full.
 */
function recordShadow(detectors: FindingCounts, facts: () => Facts, trail: GuardrailTrail | undefined): void {
  if (Object.keys(detectors).length === 0) return;
  try {
    trail?.record({ event: "guardrail.shadow", controls: [], data: { ...facts(), detectors } });
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
  }
}
