/** Inspects a request of any traffic type: applies guardrails, settles their decisions, and adds a span. */
import { GatewayError } from "../../../base/index.ts";
import {
  type Annotation,
  changesOf,
  type GuardrailSinks,
  type InspectionContext,
  inspectionFacts,
  type Segment,
} from "../../core/guardrails/index.ts";
import type { Guard, GuardResult } from "../../snapshot/index.ts";
import { clientTimeoutOf } from "../client-timeout.ts";
import type { Exchange } from "../exchange.ts";
import type { DecidedRequest } from "./decided-request.ts";
import type { EffectiveProfile } from "./effective-profile.ts";
import { settleInspection } from "./guardrails.ts";

interface RequestContext {
  readonly exchange: Exchange;
  readonly effective: EffectiveProfile;
  readonly request: DecidedRequest;
  readonly sinks: GuardrailSinks;
}

/**
 * Verdict of detectors that run in parallel with the call. An error becomes the answer; `undefined` means that there is nothing
 * to wait for. The inspection continues after the client has left, because its text was already sent to the upstream.
 */
export type ParallelVerdict = Promise<GatewayError | undefined> | undefined;

interface RequestInspectionOutcome {
  /** New texts by segment; `undefined` if nothing is rewritten. */
  readonly changes: readonly (string | undefined)[] | undefined;
  /**
   * Starts the parallel detectors. Must be called once, when the request is about to be forwarded. Throws if the verdict is
   * immediately negative.
   */
  readonly startParallel: () => ParallelVerdict;
}

const NOTHING_FOUND: readonly Annotation[] = [];

const NEVER_ABORTED = new AbortController().signal;

/** Inspects the segments of a request. Throws `guardrail_denied`, `guardrail_error`, `overloaded` or `audit_unavailable`. */
export async function inspectSegments(
  guard: Guard,
  segments: readonly Segment[],
  occasion: InspectionContext,
  { exchange, effective, request, sinks }: RequestContext,
): Promise<RequestInspectionOutcome> {
  const settle = (judged: GuardResult): GatewayError | undefined => {
    const { error, decisionsHeader: acted } = settleInspection(judged, request, effective, sinks);
    exchange.report.facts.trace?.recordRequestFindings(judged.judgement?.annotations ?? NOTHING_FOUND, segments);
    exchange.report.addGuardrails(acted);
    return error;
  };
  const timeoutMs = clientTimeoutOf(exchange.request);
  const timeLeftMs = timeoutMs && timeoutMs - (performance.now() - exchange.report.startedAt);
  const guarded = await withSpan(exchange, segments.length, (signal) =>
    guard.request(segments, occasion, signal, timeLeftMs),
  );
  const refusal = settle(guarded);
  if (refusal !== undefined) throw refusal;
  return {
    changes: changesOf(guarded.judgement),
    startParallel() {
      const verdict = judgeInParallel();
      guard.inspectAsync(segments, guarded, occasion.tracer);
      return verdict;
    },
  };

  function judgeInParallel(): ParallelVerdict {
    if (guard.inspectOverlap === undefined) return undefined;
    const span = exchange.report.span?.inspection("request");
    const endSpan = (judged: GuardResult | undefined): void => span?.end(inspectionFacts(judged, segments.length));
    const judged = guard.inspectOverlap(segments, occasion, guarded, NEVER_ABORTED);
    if (judged instanceof Promise) {
      judged.then(endSpan, () => endSpan(undefined));
      return judged.then(settle);
    }
    endSpan(judged);
    const error = settle(judged);
    if (error !== undefined) throw error;
    return undefined;
  }
}

async function withSpan(
  exchange: Exchange,
  segments: number,
  inspect: (signal: () => AbortSignal) => GuardResult | Promise<GuardResult>,
): Promise<GuardResult> {
  const span = exchange.report.span?.inspection("request");
  let guarded: GuardResult | undefined;
  try {
    guarded = await abortWhenGone(exchange, inspect);
    return guarded;
  } finally {
    span?.end(inspectionFacts(guarded, segments));
  }
}

/** Runs work that is aborted when the client leaves. The work requests the signal only if it does not finish synchronously. */
async function abortWhenGone<Value>(
  exchange: Exchange,
  work: (signal: () => AbortSignal) => Value | Promise<Value>,
): Promise<Value> {
  let controller: AbortController | undefined;
  const createController = (): AbortController => {
    const opened = new AbortController();
    const leave = (): void => opened.abort(new GatewayError("invalid_request", "The client has disconnected."));
    if (exchange.isGone) leave();
    exchange.onGone(leave);
    return opened;
  };
  try {
    return await work(() => {
      controller ??= createController();
      return controller.signal;
    });
  } finally {
    if (controller !== undefined) exchange.onGone(undefined);
  }
}
