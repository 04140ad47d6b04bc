/** Applies guardrails to a call of an MCP server or agent, before it is forwarded. Source: design decisions, section 11. */

import type { GuardrailSinks } from "../../../core/guardrails/index.ts";
import {
  createRewriting,
  envelopeSegments,
  type GuardrailVariables,
  type InspectionContext,
} from "../../../core/guardrails/index.ts";
import { estimateParsingBytes, type RequestMemory } from "../../../memory/index.ts";
import type { Guard, Restorer } from "../../../snapshot/index.ts";
import type { Exchange } from "../../exchange.ts";
import type { DecidedRequest } from "../../governance/decided-request.ts";
import type { EffectiveProfile } from "../../governance/effective-profile.ts";
import { inspectSegments, type ParallelVerdict } from "../../governance/inspect-segments.ts";
import { type AgentCall, type CallTexts, hasArguments } from "./agent-call.ts";

interface InspectCallOptions {
  readonly exchange: Exchange;
  readonly effective: EffectiveProfile;
  readonly decided: DecidedRequest;
  /** Body of the call without its content encoding. */
  readonly plain: Buffer;
  readonly memory: RequestMemory;
  readonly sinks: GuardrailSinks;
  readonly restorer: Restorer | undefined;
}

export interface InspectedCall {
  /** Texts of the call; `undefined` if no detector reads the body. */
  readonly texts: CallTexts | undefined;
  /** New texts by index; `undefined` if nothing is rewritten. */
  readonly changes: readonly (string | undefined)[] | undefined;
  readonly inspectionContext: InspectionContext;
  readonly verdict: ParallelVerdict;
}

/** Inspects a call. Throws `guardrail_denied`, `guardrail_error`, `overloaded`, `audit_unavailable` or `invalid_request`. */
export async function inspectCall(
  guard: Guard,
  call: AgentCall,
  { exchange, effective, decided, plain, memory, sinks, restorer }: InspectCallOptions,
): Promise<InspectedCall> {
  const reading = guard.readsBodies ? estimateParsingBytes(plain) : 0;
  memory.hold(reading);
  const texts = guard.readsBodies ? call.texts() : undefined;
  for (const context of texts?.uninspected ?? []) sinks.metrics.uninspected(context);
  const bodyTexts = texts?.texts ?? [];
  const segments = [...bodyTexts, ...envelopeSegments(guard, exchange.request.rawHeaders, "")];
  const inspectionContext = {
    variables: variablesOf(call, effective),
    rewriting: createRewriting(),
    tracer: exchange.report.span,
  };
  const what = { exchange, effective, request: decided, sinks };
  const restores =
    restorer && hasArguments(call) ? createFpeExemption(bodyTexts, call.fronted.restore, restorer) : undefined;
  const { changes, startParallel } = await inspectSegments(guard, segments, { ...inspectionContext, restores }, what);
  const verdict = startParallel();
  // While a verdict is pending, parallel detectors still read the texts, so their memory stays accounted.
  if (verdict === undefined) memory.release(reading);
  return { texts, changes, inspectionContext, verdict };
}

/**
 * Returns a predicate for findings that a rule with `fpe` must not encrypt: values of the restored types, and values that are
 * proven to be encrypted already, whatever type the detector gave them. Encrypted twice, they would arrive as other values.
 */
function createFpeExemption(
  texts: CallTexts["texts"],
  types: ReadonlySet<string>,
  restorer: Restorer,
): NonNullable<InspectionContext["restores"]> {
  const places = new Map<number, ReturnType<Restorer["placesIn"]>>();
  return ({ segment, label, start, end }) => {
    const text = texts[segment];
    if (text === undefined || !text.isArgument || text.isReadOnly) return false;
    if (types.has(label)) return true;
    const own = places.get(segment) ?? restorer.placesIn(text.text);
    places.set(segment, own);
    return own.some((place) => start < place.end && place.start < end);
  };
}

function variablesOf(
  { fronted, method, name }: AgentCall,
  { variables, profile }: EffectiveProfile,
): GuardrailVariables {
  const isServer = fronted.kind === "mcp";
  return {
    ...variables,
    direction: "request",
    hop: fronted.kind,
    profile: profile.name ?? "",
    model: "",
    route: "",
    server: isServer ? fronted.name : "",
    method,
    name,
    peer: isServer ? "" : fronted.name,
  };
}
