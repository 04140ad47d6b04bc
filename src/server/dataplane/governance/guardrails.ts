/**
 * What guardrails made of a request: refused, or allowed; counted, and recorded where a rule acted or a shadow detector
 * found something. Source: specification document 1 (Errors); design decisions, sections 4 and 11.
 */
import type { Log } from "../../../base/index.ts";
import { GatewayError } from "../../../base/index.ts";
import {
  type Annotation,
  type Direction,
  type Judgement,
  MOST_FINDINGS,
  type RuleDecision,
} from "../../core/guardrails/index.ts";
import type { Guarded } from "../../snapshot/index.ts";
import type { DecisionTrail, RecordData } from "../ports.ts";
import type { EndedInspection } from "../tracing.ts";
import { shown } from "../whose.ts";
import type { DecidedRequest } from "./decide.ts";
import type { GuardrailMetrics } from "./guardrail-metrics.ts";
import type { Standing } from "./standing.ts";

type Failure = Guarded["failures"][number];

/** What refuses a session of a caller whom guardrails apply to, as lists name it. */
export const UNINSPECTED_SESSIONS = "sessions are not inspected";

export interface GuardrailSinks {
  /** Undefined where nothing is recorded. */
  readonly trail: DecisionTrail | undefined;
  readonly metrics: GuardrailMetrics;
  readonly log: Log;
}

export interface Settled {
  /** Undefined: allowed. */
  readonly error: GatewayError | undefined;
  /** Value of `x-gateway-guardrails`; empty: no rule acted. */
  readonly acted: string;
}

/** By detector and `<category>/<LABEL>`: how often it was found. */
export type ShadowCounts = Readonly<Record<string, Readonly<Record<string, number>>>>;

/** All that was judged of one answer, however many pieces it came in. */
export interface JudgedWhole {
  readonly guarded: Pick<Guarded, "judgement" | "failures">;
  readonly shadow: ShadowCounts;
  /** It is refused, since it is longer than is inspected. */
  readonly isOversize: boolean;
}

/** Throws `audit_unavailable` when what a rule did cannot be recorded. */
export function settleInspection(
  guarded: Guarded,
  request: DecidedRequest,
  standing: Standing,
  sinks: GuardrailSinks,
): Settled {
  const told = (): Facts => ({ ...factsOf(request, standing), direction: "request" });
  return settle(guarded, shadowCounts(guarded.judgement?.shadow ?? []), told, sinks);
}

/** Once, when it is over or refused. Throws `audit_unavailable` when what a rule did cannot be recorded. */
export function settleAnswer(
  { guarded, shadow, isOversize }: JudgedWhole,
  request: DecidedRequest,
  standing: Standing,
  sinks: GuardrailSinks,
): Settled {
  const told = (): Facts => ({ ...factsOf(request, standing), direction: "response" });
  const settled = settle(guarded, shadow, told, sinks);
  if (!isOversize) return settled;
  const data = { ...told(), decision: "deny", error: "oversize", rule: null };
  sinks.trail?.decided({ event: "guardrail.decision", controls: [], data });
  const by = { kind: "guardrail", name: "response.on_oversize" } as const;
  const error = new GatewayError("guardrail_denied", "The answer is longer than guardrails inspect.", { by });
  return { ...settled, error };
}

function settle(
  { judgement, failures }: JudgedWhole["guarded"],
  shadow: ShadowCounts,
  told: () => Facts,
  { trail, metrics, log }: GuardrailSinks,
): Settled {
  const fatal = failures.find(({ isFatal }) => isFatal);
  for (const failure of failures) metrics.detectorFailed(failure);
  if (judgement === undefined) {
    const failed = fatal ?? ({ detector: "", kind: "failed", reason: "", isFatal: true } as const);
    const data = { ...told(), decision: "error", detector: failed.detector, error: failed.kind };
    trail?.decided({ event: "guardrail.decision", controls: [], data });
    return { error: failureError(failed, data.direction), acted: "" };
  }
  const { decisions, skipped } = judgement;
  for (const { rule, action } of decisions) metrics.decided(rule, action);
  for (const { rule, error, detail, part } of skipped) {
    metrics.failed(rule, error);
    log.warn("a guardrail rule could not be evaluated and was skipped", { rule, part, detail });
  }
  if (judgement.outcome === "error") metrics.failed(judgement.by.rule, judgement.by.error);
  if (judgement.fpeDomainTooSmall > 0) metrics.domainsTooSmall(judgement.fpeDomainTooSmall);
  recordShadow(shadow, told, trail);
  if (judgement.outcome !== "allow" || decisions.length + skipped.length > 0) {
    trail?.decided({
      event: "guardrail.decision",
      controls: controlsOf(judgement),
      data: { ...told(), ...decisionOf(judgement) },
    });
  }
  return { error: errorOf(judgement), acted: actedIn(decisions) };
}

/** Value of `x-gateway-guardrails`; empty: no rule acted. */
export const actedIn = (decisions: readonly RuleDecision[]): string => decisions.map(spelled).join(", ");

/** Values that a server or agent is sent as they once were. Throws `audit_unavailable`. */
export function recordRestored(
  restored: Readonly<Record<string, number>>,
  request: DecidedRequest,
  standing: Standing,
  { trail }: GuardrailSinks,
): void {
  if (Object.keys(restored).length === 0) return;
  const data = { ...factsOf(request, standing), direction: "request", decision: "restore", restored };
  trail?.decided({ event: "guardrail.decision", controls: [], data });
}

/** What a span tells of an inspection; undefined: nobody waited for its end. */
export function inspectionFacts(guarded: Guarded | undefined, segments: number): EndedInspection {
  if (guarded === undefined) return { outcome: "abandoned", segments, rules: [], failed: [] };
  const { judgement, failures } = guarded;
  const isRewritten = judgement?.outcome === "allow" && judgement.rewrites.some((one) => one !== undefined);
  return {
    outcome: isRewritten ? "redact" : (judgement?.outcome ?? "error"),
    segments,
    rules: judgement?.decisions.map(spelled) ?? [],
    failed: failures.map(({ detector }) => detector),
  };
}

function errorOf(judgement: Judgement): GatewayError | undefined {
  if (judgement.outcome === "allow") return undefined;
  const code = judgement.outcome === "deny" ? "guardrail_denied" : "guardrail_error";
  return new GatewayError(code, judgement.message, { by: { kind: "guardrail", name: judgement.by.rule } });
}

function failureError({ detector, kind }: Pick<Failure, "detector" | "kind">, direction: Direction): GatewayError {
  const by = { kind: "guardrail", name: `detector ${detector}` } as const;
  if (kind === "overloaded") {
    return new GatewayError("overloaded", `The guardrail detector ${detector} has more to do than it can hold.`, {
      by,
    });
  }
  if (kind === "excess" && direction === "response") {
    const message = `The guardrail detector ${detector} finds more than ${MOST_FINDINGS} places in the answer.`;
    return new GatewayError("guardrail_error", message, { by });
  }
  if (kind === "excess") {
    const message = `The guardrail detector ${detector} finds more than ${MOST_FINDINGS} places in the message: send it in parts.`;
    return new GatewayError("body_too_large", message, { by });
  }
  const what = kind === "timeout" ? "took too long" : "failed";
  return new GatewayError("guardrail_error", `The guardrail detector ${detector} ${what}.`, { by });
}

/** A name may hold any character, and a header may not. */
const spelled = ({ rule, action }: RuleDecision): string =>
  `${rule.toWellFormed().replace(/[^!-~]|[%,=]/gu, encodeURIComponent)}=${action}`;

const controlsOf = (judgement: Judgement): readonly string[] => {
  const all = [...judgement.decisions, ...judgement.skipped, ...(judgement.outcome === "error" ? [judgement.by] : [])];
  return [...new Set(all.flatMap(({ controls }) => controls))];
};

/** Counts and names, never a text. */
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

/** Adds to `counts`. */
export function countShadow(found: readonly Annotation[], counts: Record<string, Record<string, number>>): void {
  for (const { detector, category, label } of found) {
    const types = counts[detector] ?? {};
    counts[detector] = types;
    const type = `${category}/${label}`;
    types[type] = (types[type] ?? 0) + 1;
  }
}

function shadowCounts(found: readonly Annotation[]): ShadowCounts {
  const counts: Record<string, Record<string, number>> = {};
  countShadow(found, counts);
  return counts;
}

/** What is only watched refuses nobody: a trail that is full says so itself. */
function recordShadow(detectors: ShadowCounts, told: () => Facts, trail: DecisionTrail | undefined): void {
  if (Object.keys(detectors).length === 0) return;
  try {
    trail?.decided({ event: "guardrail.shadow", controls: [], data: { ...told(), detectors } });
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
  }
}

/** Made where something is recorded alone, which is rare. */
type Facts = RecordData & { readonly direction: Direction };

function factsOf(request: DecidedRequest, { caller, profile }: Standing): RecordData {
  const { key, agent, user, issuer } = caller;
  return {
    agent: agent?.subject ?? null,
    caller: caller.kind,
    hop: request.hop,
    issuer: issuer ?? null,
    key: key?.name ?? null,
    key_id: key?.id ?? null,
    model: request.model === undefined ? null : shown(request.model),
    profile: profile.name ?? null,
    request: request.requestId,
    route: request.route,
    to: request.to,
    user: user?.subject ?? null,
    user_name: user?.name ?? null,
  };
}
