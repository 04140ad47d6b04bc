/**
 * Sends a request to the first candidate that answers: retries at one provider, then failover to the next.
 *
 * Source: specification document 3, `providers[]`. There is no retry or failover after a byte has reached the client. The last
 * provider's own answer is returned, never a generated one. A 4xx other than 429 is final.
 */
import { performance } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { type AttemptSpan, type AttemptTracer, type CompletionCallback, GatewayError } from "../../base/index.ts";
import { AttemptDecision, classifyFailure } from "./attempt-decision.ts";
import type { CredentialAttemptOutcome } from "./attempt-with-credential.ts";
import type { AnyCandidate, ForwardOptions } from "./candidates.ts";
import type { Downstream, UpstreamRequest } from "./ports.ts";
import { deliverPickerAnswer, routeAndAttempt } from "./route-and-attempt.ts";

/**
 * Forwards a request. `onDone` is called once: when the answer was delivered, when the client left, or with the refusal if no
 * candidate answered.
 */
export function forward<One extends AnyCandidate>(options: ForwardOptions<One>, onDone: CompletionCallback): void {
  new ForwardedRequest(options, onDone).begin();
}

/**
 * Request on its way from candidate to candidate. The usual case, a delivered answer, is reported with its last byte and without
 * a promise; any other outcome is handled after the code that reported it has returned.
 */
class ForwardedRequest<One extends AnyCandidate> {
  readonly #options: ForwardOptions<One>;
  readonly #onDone: CompletionCallback;
  readonly #startedAt = performance.now();
  #hasEnded = false;
  /** Position of the candidate, counted from 0. */
  #position = -1;
  /** Number of earlier attempts at the candidate. */
  #retries = 0;

  constructor(options: ForwardOptions<One>, onDone: CompletionCallback) {
    this.#options = options;
    this.#onDone = onDone;
  }

  begin(): void {
    try {
      this.#tryCandidate(this.#options.candidates.at(0));
    } catch (error) {
      this.#end(error);
    }
  }

  #end(error?: unknown): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#onDone(error);
  }

  #tryCandidate(candidate: One | undefined, failed?: GatewayError): void {
    if (candidate === undefined) throw failed ?? new GatewayError("upstream_unreachable", "No provider answered.");
    this.#position++;
    this.#retries = 0;
    this.#attempt({ candidate, ...candidate.prepare() });
  }

  #attempt(prepared: PreparedCandidate<One>): void {
    const { candidate, request, downstream } = prepared;
    const { provider, channel, subset } = candidate;
    const options = this.#options;
    const { decodes, checksForError, mapsErrors, correctsContentType } = prepared;
    const position = { candidate, at: this.#position, retries: this.#retries, checksForError };
    const decision = new AttemptDecision<One>(options, position, this.#startedAt);
    options.onAttempt(candidate, position.retries > 0);
    const span = options.tracer && startSpan(options.tracer, candidate, request);
    routeAndAttempt(
      { origins: options.origins, channel, subset, requestId: options.requestId },
      span === undefined ? request : withTraceHeaders(span, request),
      downstream,
      {
        firstByteTimeoutMs: provider.firstByteTimeoutMs,
        decodes,
        mapsErrors,
        correctsContentType,
        holdMs: options.holdMs,
        judge: decision,
        onWait: options.onWait,
        presenter: options.presenter,
        credential: channel.credential,
        host: channel.host,
        actingFor: options.tokenExchangeCaller,
        onPresented: options.onPresented,
      },
      (outcome) => {
        if (outcome.kind === "delivered") this.#onOutcome(outcome, decision, prepared, span);
        else queueMicrotask(() => this.#onOutcome(outcome, decision, prepared, span));
      },
    );
  }

  #onOutcome(
    outcome: CredentialAttemptOutcome,
    decision: AttemptDecision<One>,
    prepared: PreparedCandidate<One>,
    span: AttemptSpan | undefined,
  ): void {
    if (this.#hasEnded) return;
    try {
      this.#takeNextStep(outcome, decision, prepared, span);
    } catch (error) {
      this.#end(error);
    }
  }

  #takeNextStep(
    outcome: CredentialAttemptOutcome,
    decision: AttemptDecision<One>,
    prepared: PreparedCandidate<One>,
    span: AttemptSpan | undefined,
  ): void {
    const { kind } = outcome;
    if (kind === "fault") throw outcome.error;
    const options = this.#options;
    const { provider } = prepared.candidate;
    const failed = classifyFailure(outcome, provider, options.candidates.failoverWhen, decision);
    if (kind === "abandoned") decision.result = "abandoned";
    if (kind === "declined") decision.recordPickerAnswer(outcome.answer.status);
    span?.end(decision.result, decision.status);
    options.onAttemptEnd(provider, decision);
    if (kind === "declined") {
      options.onPresented(undefined);
      deliverPickerAnswer(outcome.answer, prepared.downstream);
    }
    const { nextStep } = decision;
    if (kind === "delivered" || kind === "abandoned" || kind === "declined") this.#end();
    else if (nextStep.kind === "retry") this.#retry(nextStep.waitMs, prepared);
    else if (nextStep.kind === "answer" && failed !== undefined) throw failed;
    else this.#tryCandidate(decision.nextCandidate, failed);
  }

  #retry(waitMs: number, prepared: PreparedCandidate<One>): void {
    const { downstream, onWait } = this.#options;
    const again = (isThere: boolean): void => {
      this.#retries++;
      if (isThere) this.#attempt(prepared);
      else this.#end();
    };
    waitUnlessGone(waitMs, downstream, onWait)
      .then(again)
      .catch((error: unknown) => this.#end(error));
  }
}

/** Candidate with the request that was prepared for it. */
interface PreparedCandidate<One> extends ReturnType<AnyCandidate["prepare"]> {
  readonly candidate: One;
}

function startSpan(
  tracer: AttemptTracer,
  { provider, channel }: AnyCandidate,
  { method }: UpstreamRequest,
): AttemptSpan {
  return tracer.startAttempt({ method, provider: provider.name, channel: channel.id, origin: channel.shownOrigin });
}

function withTraceHeaders(span: AttemptSpan, { method, path, headers, body }: UpstreamRequest): UpstreamRequest {
  return { method, path, headers: span.injectContext(headers), body };
}

/** Waits. Resolves to false if the client left meanwhile. */
async function waitUnlessGone(waitMs: number, downstream: Downstream, onWait: (ms: number) => void): Promise<boolean> {
  const leaving = new AbortController();
  downstream.onGone(() => leaving.abort());
  try {
    await sleep(waitMs, undefined, { signal: leaving.signal });
    onWait(waitMs);
  } catch {
    return false; // Aborted, which is the only way in which a timer can fail.
  } finally {
    downstream.onGone(undefined);
  }
  return !downstream.isGone;
}
