/**
 * Applies guardrails to a model request, which is passed, rewritten or refused. This happens once, in the client's dialect and
 * before a channel is prepared, so that translation and failover only see the inspected request. Source: design decisions,
 * section 11.
 */
import { GatewayError } from "../../../../base/index.ts";
import { readTexts } from "../../../core/dialects/index.ts";
import {
  createRewriting,
  envelopeSegments,
  type GuardrailSinks,
  type GuardrailVariables,
  type InspectionContext,
  type Segment,
  segmentOf,
} from "../../../core/guardrails/index.ts";
import { estimateParsingBytes, type RequestMemory } from "../../../memory/index.ts";
import type { Guard, Snapshot } from "../../../snapshot/index.ts";
import type { Exchange } from "../../exchange.ts";
import type { EffectiveProfile } from "../../governance/effective-profile.ts";
import { inspectSegments, type ParallelVerdict } from "../../governance/inspect-segments.ts";
import { resolveTarget, type Target } from "./resolve-target.ts";

interface InspectRequestOptions {
  readonly snapshot: Snapshot;
  readonly exchange: Exchange;
  readonly effective: EffectiveProfile;
  readonly memory: RequestMemory;
  readonly sinks: GuardrailSinks;
}

interface InspectedRequest {
  /** Target to serve: the original one, or a new one if texts were rewritten. */
  readonly target: Target;
  /** Inspection state. The answer uses the same placeholder numbers. */
  readonly inspectionContext: InspectionContext;
  readonly verdict: ParallelVerdict;
}

const NO_SEGMENTS: readonly Segment[] = [];

/**
 * Inspects a request. Throws `guardrail_denied`, `guardrail_error`, `overloaded` or `audit_unavailable`, and `invalid_request`
 * if the body cannot be read, because its content is then unknown.
 */
export async function inspectRequest(
  guard: Guard,
  target: Target,
  { snapshot, exchange, effective, memory, sinks }: InspectRequestOptions,
): Promise<InspectedRequest> {
  const { plain } = target;
  // Most of a form is files, which are inspected in place.
  const isForm = /^\s*multipart\//i.test(target.contentType);
  const reading = guard.readsBodies && !isForm ? estimateParsingBytes(plain) : 0;
  memory.hold(reading);
  const texts = guard.readsBodies ? readTexts(target.route, target.dialect, target) : undefined;
  if (texts?.problem !== undefined) {
    throw new GatewayError("invalid_request", `Guardrails cannot inspect the request: ${texts.problem}.`);
  }
  for (const what of texts?.uninspected ?? []) sinks.metrics.uninspected(what);
  const bodySegments = texts === undefined ? NO_SEGMENTS : [...texts.texts, ...texts.seams].map(segmentOf);
  const beside = envelopeSegments(guard, exchange.request.rawHeaders, target.query);
  // Texts of the body come first, so that changes keep their indexes.
  const segments = beside.length === 0 ? bodySegments : [...bodySegments, ...beside];
  const inspectionContext: InspectionContext = {
    variables: variablesOf(target, effective),
    rewriting: createRewriting(),
    tracer: exchange.report.span,
  };
  const { requestId } = exchange;
  const { model, route, provider } = target;
  const request = { requestId, hop: "llm", route: route.name, to: provider.name, model } as const;
  const what = { exchange, effective, request, sinks };
  const { changes, startParallel: judgeBeside } = await inspectSegments(guard, segments, inspectionContext, what);
  const body = texts === undefined || changes === undefined ? plain : texts.rewrite(changes);
  const inspected = body === plain ? target : rewrittenTarget(body);
  const verdict = judgeBeside();
  // While a verdict is pending, parallel detectors still read the texts, so their memory stays accounted.
  if (verdict === undefined) memory.release(reading);
  return { target: inspected, inspectionContext, verdict };

  function rewrittenTarget(body: Buffer): Target {
    memory.hold(body.length);
    const { contentType } = target;
    // Positions in the rewritten body differ, so the target is determined again.
    const rewritten = resolveTarget(snapshot, target, { contentType, original: body, plain: body, memory });
    return { ...rewritten, isRewritten: true };
  }
}

/**
 * Returns the variables for guardrail conditions. They are written out, because spreading an object is slower than evaluating all
 * rules of a policy.
 */
export const variablesOf = (
  { model, route }: Target,
  { variables, profile }: EffectiveProfile,
): GuardrailVariables => ({
  key: variables.key,
  agent: variables.agent,
  user: variables.user,
  direction: "request",
  hop: "llm",
  profile: profile.name ?? "",
  model: model ?? "",
  route: route.name,
  server: "",
  method: "",
  name: "",
  peer: "",
});
