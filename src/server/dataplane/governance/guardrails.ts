/**
 * Records the guardrail actions on a request and its answer, together with the caller. Source: specification document 1
 * (Errors); design decisions, sections 4 and 11.
 */
import {
  type AnswerResult,
  type Direction,
  type Facts,
  type GuardrailSinks,
  type RecordData,
  type SettledMessage,
  settleAnswerResult,
  settleMessage,
} from "../../core/guardrails/index.ts";
import type { GuardResult } from "../../snapshot/index.ts";
import { displayText } from "../caller-label.ts";
import type { DecidedRequest } from "./decided-request.ts";
import type { EffectiveProfile } from "./effective-profile.ts";

/** Settles the inspection of a request. Throws `audit_unavailable` if an action of a rule cannot be recorded. */
export const settleInspection = (
  guarded: GuardResult,
  request: DecidedRequest,
  effective: EffectiveProfile,
  sinks: GuardrailSinks,
): SettledMessage => settleMessage(guarded, factsWithDirection("request", request, effective), sinks);

/**
 * Settles the inspection of an answer. Must be called once, when the answer has ended or is refused. Throws `audit_unavailable`
 * if an action of a rule cannot be recorded.
 */
export const settleAnswer = (
  judged: Omit<AnswerResult, "found">,
  request: DecidedRequest,
  effective: EffectiveProfile,
  sinks: GuardrailSinks,
): SettledMessage => settleAnswerResult(judged, factsWithDirection("response", request, effective), sinks);

const factsWithDirection =
  (direction: Direction, request: DecidedRequest, effective: EffectiveProfile): (() => Facts) =>
  () => ({ ...factsOf(request, effective), direction });

/** Records which values are restored for a server or agent. Throws `audit_unavailable`. */
export function recordRestored(
  restored: Readonly<Record<string, number>>,
  request: DecidedRequest,
  effective: EffectiveProfile,
  { trail }: GuardrailSinks,
): void {
  if (Object.keys(restored).length === 0) return;
  const data = { ...factsOf(request, effective), direction: "request", decision: "restore", restored };
  trail?.record({ event: "guardrail.decision", controls: [], data });
}

function factsOf(request: DecidedRequest, { caller, profile }: EffectiveProfile): RecordData {
  const { key, agent, user, issuer } = caller;
  return {
    agent: agent?.subject ?? null,
    caller: caller.kind,
    hop: request.hop,
    issuer: issuer ?? null,
    key: key?.name ?? null,
    key_id: key?.id ?? null,
    model: request.model === undefined ? null : displayText(request.model),
    profile: profile.name ?? null,
    request: request.requestId,
    route: request.route,
    to: request.to,
    user: user?.subject ?? null,
    user_name: user?.name ?? null,
  };
}
