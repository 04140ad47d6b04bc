/**
 * Sends a request to the first candidate that answers: retries at one provider, then failover to the next.
 *
 * Source: specification document 3, `providers[]`. There is no retry or failover after a byte has reached the client. The last
 * provider's own answer is returned, never a generated one. A 4xx other than 429 is final.
 */
import { performance } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { type AttemptSpan, type AttemptTracer, type CompletionCallback, GatewayError } from "../../base/index.ts";
import { failureOf, Ruling } from "./attempt-outcome.ts";
import type { AnyCandidate, ForwardOptions } from "./candidates.ts";
import type { Downstream, UpstreamRequest } from "./ports.ts";
import type { PresentedOutcome } from "./present.ts";
import { attemptRouted, deliver } from "./routed.ts";

/**
 * Forwards a request. `over` is called once: when the answer was delivered, when the client left, or with the refusal if no
 * candidate answered.
 */
export function forward<One extends AnyCandidate>(options: ForwardOptions<One>, over: CompletionCallback): void {
  new Forwarding(options, over).begin();
}

/**
 * Request on its way from candidate to candidate. The usual case, a delivered answer, is reported with its last byte and without
 * a promise; any other outcome is handled after the code that reported it has returned.
 */
class Forwarding<One extends AnyCandidate> {
  readonly #options: ForwardOptions<One>;
  readonly #over: CompletionCallback;
  readonly #startedAt = performance.now();
  #isOver = false;
  /** Position of the candidate, counted from 0. */
  #at = -1;
  /** Number of earlier attempts at the candidate. */
  #repeated = 0;

  constructor(options: ForwardOptions<One>, over: CompletionCallback) {
    this.#options = options;
    this.#over = over;
  }

  begin(): void {
    try {
      this.#ask(this.#options.candidates.at(0));
    } catch (error) {
      this.#end(error);
    }
  }

  #end(error?: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#over(error);
  }

  #ask(candidate: One | undefined, failed?: GatewayError): void {
    if (candidate === undefined) throw failed ?? new GatewayError("upstream_unreachable", "No provider answered.");
    this.#at++;
    this.#repeated = 0;
    this.#attempt({ candidate, ...candidate.prepare() });
  }

  #attempt(asked: Asked<One>): void {
    const { candidate, request, downstream } = asked;
    const { provider, channel, subset } = candidate;
    const options = this.#options;
    const { decodes, checksForError, mapsErrors, retypes } = asked;
    const turn = { candidate, at: this.#at, repeated: this.#repeated, checksForError };
    const ruling = new Ruling<One>(options, turn, this.#startedAt);
    options.attempting(candidate, turn.repeated > 0);
    const span = options.tracer && startSpan(options.tracer, candidate, request);
    attemptRouted(
      { origins: options.origins, channel, subset, requestId: options.requestId },
      span === undefined ? request : carrying(span, request),
      downstream,
      {
        firstByteTimeoutMs: provider.firstByteTimeoutMs,
        decodes,
        mapsErrors,
        retypes,
        holdMs: options.holdMs,
        judge: ruling,
        waited: options.waited,
        presenter: options.presenter,
        credential: channel.credential,
        host: channel.host,
        actingFor: options.actingFor,
        presented: options.presented,
      },
      (outcome) => {
        if (outcome.kind === "delivered") this.#judge(outcome, ruling, asked, span);
        else queueMicrotask(() => this.#judge(outcome, ruling, asked, span));
      },
    );
  }

  #judge(outcome: PresentedOutcome, ruling: Ruling<One>, asked: Asked<One>, span: AttemptSpan | undefined): void {
    if (this.#isOver) return;
    try {
      this.#follow(outcome, ruling, asked, span);
    } catch (error) {
      this.#end(error);
    }
  }

  #follow(outcome: PresentedOutcome, ruling: Ruling<One>, asked: Asked<One>, span: AttemptSpan | undefined): void {
    const { kind } = outcome;
    if (kind === "fault") throw outcome.error;
    const options = this.#options;
    const { provider } = asked.candidate;
    const failed = failureOf(outcome, provider, options.candidates.failoverWhen, ruling);
    if (kind === "abandoned") ruling.result = "abandoned";
    if (kind === "declined") ruling.declined(outcome.answer.status);
    span?.end(ruling.result, ruling.status);
    options.attempted(provider, ruling);
    if (kind === "declined") {
      options.presented(undefined);
      deliver(outcome.answer, asked.downstream);
    }
    const { move } = ruling;
    if (kind === "delivered" || kind === "abandoned" || kind === "declined") this.#end();
    else if (move.kind === "retry") this.#retry(move.waitMs, asked);
    else if (move.kind === "answer" && failed !== undefined) throw failed;
    else this.#ask(ruling.following, failed);
  }

  #retry(waitMs: number, asked: Asked<One>): void {
    const { downstream, waited } = this.#options;
    const again = (isThere: boolean): void => {
      this.#repeated++;
      if (isThere) this.#attempt(asked);
      else this.#end();
    };
    waitOut(waitMs, downstream, waited)
      .then(again)
      .catch((error: unknown) => this.#end(error));
  }
}

/** Candidate with the request that was prepared for it. */
interface Asked<One> extends ReturnType<AnyCandidate["prepare"]> {
  readonly candidate: One;
}

function startSpan(
  tracer: AttemptTracer,
  { provider, channel }: AnyCandidate,
  { method }: UpstreamRequest,
): AttemptSpan {
  return tracer.startAttempt({ method, provider: provider.name, channel: channel.id, origin: channel.shownOrigin });
}

function carrying(span: AttemptSpan, { method, path, headers, body }: UpstreamRequest): UpstreamRequest {
  return { method, path, headers: span.injectContext(headers), body };
}

/** Waits. Resolves to false if the client left meanwhile. */
async function waitOut(waitMs: number, downstream: Downstream, waited: (ms: number) => void): Promise<boolean> {
  const leaving = new AbortController();
  downstream.onGone(() => leaving.abort());
  try {
    await sleep(waitMs, undefined, { signal: leaving.signal });
    waited(waitMs);
  } catch {
    return false; // Aborted, which is the only way in which a timer can fail.
  } finally {
    downstream.onGone(undefined);
  }
  return !downstream.isGone;
}
