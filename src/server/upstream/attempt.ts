/**
 * Makes one attempt: sends a request to one channel, and streams its answer to the client as it arrives, or rejects the answer.
 *
 * The connection passes headers and chunks as they are read from the socket; nothing is copied and no promise is created per
 * chunk. Back-pressure is passed on: a client that does not read pauses the upstream's socket. This is a class instead of
 * closures, because the hot path can afford only one object per request.
 */
import { performance } from "node:perf_hooks";
import { runMicrotask } from "../../base/index.ts";
import { layersIn } from "../coding/index.ts";
import { AnswerDecoding, areSupported, type DecodedSink, isEncoded, withoutFalseEncoding } from "./answer-decoding.ts";
import { type AttemptOutcome, hideHeaderError, NoServerError, outcomeOfFailure } from "./attempt-outcome.ts";
import { headerValue } from "./header-value.ts";
import { errorHeaders, HeldAnswer, mayBeText, withoutBodyHeaders } from "./held-answer.ts";
import type { AnswerHandler, RequestInProgress } from "./http/index.ts";
import type { Downstream, UpstreamRequest } from "./ports.ts";
import type { Route, Server } from "./server.ts";

/** Decides whether an answer is sent to the client. It decides synchronously, because the body waits. */
export interface Judge {
  /** Returns whether the answer is sent to the client, or `read` if `acceptsBody` must decide. */
  accepts(status: number, headers: readonly string[]): boolean | "read";
  /** Decides by the body of an answer. The body is no longer than an error message. */
  readonly acceptsBody?: (body: string) => boolean;
  /** Collector of the error's body; `undefined` unless the answer is a failure. Valid after `accepts`. */
  readonly error: { add?(chunk: Buffer): void; end?(): void } | undefined;
  /** Looks for an error within an answer of status 200 before any of it is sent; `undefined` if this is not checked. */
  readonly embeddedErrorCheck:
    | { event(data: string): EmbeddedErrorResult; body(body: Buffer): EmbeddedErrorResult }
    | undefined;
  /** Whether the request may be retried or fail over. */
  readonly mayRetryOrFailOver: boolean;
  /** Called when the answer's content encoding is decoded. */
  onDecoding(): void;
  /** Called when the answer begins to be sent to the client. `ms`: time since dispatch. */
  onStart(ms: number): void;
}

/** Result of the check. `try-next`: an error that causes a retry or failover. Number: status that the error is answered with. */
export type EmbeddedErrorResult = "answer" | "try-next" | number;

export interface AttemptOptions {
  readonly firstByteTimeoutMs: number | undefined;
  /** Whether the gateway reads the answer and decodes its content encodings. */
  readonly decodes: boolean;
  /** Whether an error within an answer becomes an answer with its own status; otherwise it passes unchanged. */
  readonly mapsErrors: boolean;
  /** Whether the answer is JSON or events, so that its content type is corrected to the actual form. */
  readonly correctsContentType: boolean;
  /** Maximum time in milliseconds that an answer is held back for its first event; 0 for no limit. */
  readonly holdMs: number;
  readonly judge: Judge;
  /** Receives the milliseconds from dispatch to headers, or to the failure. */
  readonly onWait: (ms: number) => void;
}

/** Maximum bytes and time spent reading an unwanted answer, so that its connection can be reused. */
const MAX_DISCARDED_BYTES = 64 << 10;
const MAX_DISCARDING_MS = 2_000;

const DELIVERED: AttemptOutcome = { kind: "delivered" };
const REJECTED: AttemptOutcome = { kind: "rejected" };
const ABANDONED: AttemptOutcome = { kind: "abandoned" };

type Phase = "waiting" | "holding" | "flowing" | "settled";

/** Makes one attempt. Calls `onOutcome` once, after the last byte of a delivered answer. `onOutcome` must not throw. */
export function attempt(
  route: Route,
  request: UpstreamRequest,
  downstream: Downstream,
  options: AttemptOptions,
  onOutcome: (outcome: AttemptOutcome) => void,
): void {
  new Attempt(route, request, downstream, options, onOutcome).begin();
}

class Attempt implements AnswerHandler, DecodedSink {
  readonly #route: Route;
  readonly #request: UpstreamRequest;
  readonly #downstream: Downstream;
  readonly #options: AttemptOptions;
  readonly #onOutcome: (outcome: AttemptOutcome) => void;
  readonly #startedAt = performance.now();
  #phase: Phase = "waiting";
  /** Server of the attempt; `undefined` once the attempt has ended there. */
  #server: Server | undefined;
  /** Request in progress; `undefined` until it is sent. */
  #requestInProgress: RequestInProgress | undefined;
  #timer: NodeJS.Timeout | undefined;
  #hasHeaders = false;
  #discardedBytes = 0;
  #held: HeldAnswer | undefined;
  /** Decoding of the body; `undefined` if it needs none. */
  #decoding: AnswerDecoding | undefined;
  /** Resumes reading from the connection. */
  #resume: (() => void) | undefined;
  /** Collects the body of a failed answer, delivered or not. */
  #error: Judge["error"];

  constructor(
    route: Route,
    request: UpstreamRequest,
    downstream: Downstream,
    options: AttemptOptions,
    onOutcome: (outcome: AttemptOutcome) => void,
  ) {
    this.#route = route;
    this.#request = request;
    this.#downstream = downstream;
    this.#options = options;
    this.#onOutcome = onOutcome;
  }

  begin(): void {
    const { firstByteTimeoutMs } = this.#options;
    if (this.#downstream.isGone) {
      this.#stop(ABANDONED);
      return;
    }
    this.#downstream.onGone(() => this.#stop(ABANDONED));
    if (firstByteTimeoutMs !== undefined) this.#timer = setTimeout(() => this.#timedOut(), firstByteTimeoutMs);
    this.#route.feedback?.onEvicted((answer) => {
      if (!this.#hasHeaders) this.#stop({ kind: "declined", answer });
    });
    const server = this.#route.next(undefined);
    if (server !== undefined) this.#dispatch(server);
    else this.#stop({ kind: "unreachable", cause: new NoServerError(this.#route.noServerReason) });
  }

  #timedOut(): void {
    this.#stop({ kind: "timeout", wasSent: this.#requestInProgress !== undefined });
  }

  #dispatch(server: Server): void {
    this.#server = server;
    server.beginAttempt();
    server.client.dispatch(this.#request, this);
  }

  /** Ends the attempt at this server. */
  #endAtServer(): void {
    this.#server?.endAttempt();
    this.#server = undefined;
  }

  /** Ends the attempt. `isAborted`: the answer is no longer wanted. */
  #end(isAborted: boolean): void {
    this.#endAtServer();
    this.#route.feedback?.end(isAborted);
  }

  onConnected(sending: RequestInProgress): void {
    this.#requestInProgress = sending;
    this.#server?.recordConnect();
    if (this.#phase === "settled") this.#abort();
  }

  /** Handles the loss of a reused connection. A failure to connect again counts as if nothing had been sent. */
  onDisconnected(): void {
    this.#requestInProgress = undefined;
  }

  #abort(): void {
    this.#requestInProgress?.abort(this);
  }

  onHead(status: number, statusText: string, headers: readonly string[], resume: () => void): void {
    if (this.#phase === "settled") return;
    clearTimeout(this.#timer);
    this.#hasHeaders = true;
    const { feedback } = this.#route;
    if (feedback !== undefined && this.#server !== undefined) {
      feedback.reportAnswer(status, headerValue(headers, "content-type"), this.#server);
    }
    this.#options.onWait(performance.now() - this.#startedAt);
    const { judge } = this.#options;
    const isAccepted = judge.accepts(status, headers);
    this.#error = judge.error;
    if (isAccepted === false) {
      this.#settle(REJECTED); // The rest of the answer is read and dropped.
      this.#timer = setTimeout(() => this.#abort(), MAX_DISCARDING_MS);
      return;
    }
    this.#resume = resume;
    const plainHeaders = this.#prepareDecoding(status, headers);
    this.#downstream.onDrain(this.#decoding === undefined ? resume : () => this.#decoding?.resume());
    const { correctsContentType } = this.#options;
    const checksForError =
      judge.embeddedErrorCheck !== undefined &&
      status === 200 &&
      !isEncoded(plainHeaders) &&
      (correctsContentType || mayBeText(plainHeaders));
    if (isAccepted === "read" || checksForError) {
      this.#phase = "holding";
      this.#held = new HeldAnswer(status, statusText, plainHeaders, {
        awaitsBody: isAccepted === "read",
        checksForError,
        awaitsEvent: judge.mayRetryOrFailOver || this.#options.mapsErrors,
        mustHaveContent: correctsContentType && this.#options.mapsErrors,
      });
      // Most answers are complete in the read that contains their head, and need no timer.
      if (isAccepted !== "read" && this.#options.holdMs > 0) runMicrotask(() => this.#limitHold());
      return;
    }
    this.#start(status, statusText, plainHeaders);
  }

  /** Prepares the decoding of the body if it is needed. Returns the headers of the decoded answer. */
  #prepareDecoding(status: number, headers: readonly string[]): readonly string[] {
    if (!this.#options.decodes || this.#request.method === "HEAD" || status === 204 || status === 304) return headers;
    const layers = layersIn(headerValue(headers, "content-encoding"));
    if (!areSupported(layers)) return withoutFalseEncoding(headers);
    this.#decoding = new AnswerDecoding(layers, this);
    this.#options.judge.onDecoding();
    return withoutBodyHeaders(headers);
  }

  onData(chunk: Buffer): boolean {
    this.#error?.add?.(chunk);
    if (this.#phase === "settled") {
      this.#discardedBytes += chunk.length;
      if (this.#discardedBytes > MAX_DISCARDED_BYTES) this.#abort();
      return true;
    }
    if (this.#decoding !== undefined) return this.#decoding.push(chunk, () => this.#resume?.());
    return this.onDecoded(chunk);
  }

  onDecoded(chunk: Buffer): boolean {
    if (this.#phase === "flowing") return this.#downstream.write(chunk);
    return this.#held === undefined || this.#phase !== "holding" || this.#hold(this.#held, chunk);
  }

  onComplete(): void {
    this.#end(false);
    this.#error?.end?.();
    if (this.#decoding !== undefined && this.#phase !== "settled") this.#decoding.end();
    else this.onDecodedEnd();
  }

  onDecodedEnd(): void {
    if (this.#held !== undefined && this.#phase === "holding") this.#complete(this.#held);
    if (this.#phase === "flowing") this.#downstream.end();
    clearTimeout(this.#timer);
    this.#settle(DELIVERED);
  }

  onDecodingFailed(cause: Error): void {
    clearTimeout(this.#timer);
    if (this.#phase === "flowing") {
      this.#downstream.breakOff(cause);
      this.#stop(DELIVERED);
    } else this.#stop({ kind: "invalid", cause });
  }

  onFailed(cause: Error): void {
    if (this.#requestInProgress === undefined && this.#tryNextServer(cause)) return;
    this.#end(true);
    this.#error?.end?.();
    this.#decoding?.destroy();
    clearTimeout(this.#timer);
    const held = this.#phase === "holding" ? this.#held : undefined;
    // No other upstream is tried, so the client gets the partial answer and sees that it broke off.
    if (held !== undefined && held.bytes > 0 && !this.#options.judge.mayRetryOrFailOver) this.#release(held);
    if (this.#phase === "flowing") {
      this.#downstream.breakOff(cause);
      this.#settle(DELIVERED);
    } else {
      this.#settle(outcomeOfFailure(cause));
    }
  }

  /** Moves to the next server after a failed connect, in which nothing was sent. Returns false if there is no further server. */
  #tryNextServer(cause: Error): boolean {
    const failed = this.#server;
    if (failed === undefined) return false;
    failed.recordConnectFailure(cause);
    if (this.#phase === "settled") return false;
    const next = this.#route.next(failed);
    if (next === undefined) return false;
    this.#endAtServer();
    this.#dispatch(next);
    return true;
  }

  #settle(outcome: AttemptOutcome): void {
    if (this.#phase === "settled") return;
    if (this.#phase === "waiting" && !this.#hasHeaders) this.#options.onWait(performance.now() - this.#startedAt);
    this.#phase = "settled";
    clearTimeout(this.#timer);
    this.#downstream.onGone(undefined);
    this.#onOutcome(outcome);
  }

  /** Ends the upstream request. A request without a connection ends as soon as it gets one. */
  #stop(outcome: AttemptOutcome): void {
    this.#settle(outcome);
    this.#decoding?.destroy();
    this.#route.feedback?.end(true);
    this.#abort();
  }

  #limitHold(): void {
    if (this.#phase !== "holding" || this.#held === undefined) return;
    this.#timer = setTimeout(() => this.#releaseAfterSilence(), this.#options.holdMs);
  }

  /** Releases a stream that was silent for too long to the client as it is. */
  #releaseAfterSilence(): void {
    if (this.#held !== undefined && this.#phase === "holding") this.#release(this.#held);
  }

  #hold(answer: HeldAnswer, chunk: Buffer): boolean {
    const first = answer.add(chunk);
    if (first !== undefined)
      return this.#handleErrorCheck(answer, this.#options.judge.embeddedErrorCheck?.event(first), first, false);
    const problem = this.#options.mapsErrors ? answer.formProblem : undefined;
    if (problem !== undefined) {
      this.#stop({ kind: "invalid", cause: new Error(problem) });
      return true;
    }
    return answer.isWaiting || this.#release(answer);
  }

  #complete(answer: HeldAnswer): void {
    const { judge } = this.#options;
    if (answer.awaitsBody && judge.acceptsBody?.(answer.body.toString()) === false) {
      this.#settle(REJECTED);
      return;
    }
    const last = answer.takeLastEvent();
    const missing = last === undefined ? answer.missingContent : undefined;
    if (missing !== undefined) this.#settle({ kind: "invalid", cause: new Error(missing) });
    else if (last !== undefined) this.#handleErrorCheck(answer, judge.embeddedErrorCheck?.event(last), last, true);
    else if (answer.checksForError)
      this.#handleErrorCheck(answer, judge.embeddedErrorCheck?.body(answer.body), answer.body, true);
    else this.#release(answer);
  }

  /** Handles the result of the check. `errorText`: text that contains the error, if any. `isEnded`: the answer is complete. */
  #handleErrorCheck(
    answer: HeldAnswer,
    found: EmbeddedErrorResult | undefined,
    errorText: string | Buffer,
    isEnded: boolean,
  ): boolean {
    const passes = found === undefined || found === "answer" || (found !== "try-next" && !this.#options.mapsErrors);
    if (passes) return this.#release(answer);
    if (found === "try-next") {
      if (isEnded) this.#settle(REJECTED);
      else this.#stop(REJECTED);
      return true;
    }
    const body = Buffer.from(errorText);
    this.#held = undefined;
    this.#start(found, "", errorHeaders(answer.headers, body.length));
    if (this.#phase !== "flowing") return true;
    this.#downstream.write(body);
    if (isEnded) return true;
    this.#downstream.end();
    this.#stop(DELIVERED);
    return true;
  }

  /**
   * Starts the delivery. If the client's side throws, the attempt is invalid: in the connection, the exception would close it.
   */
  #start(status: number, statusText: string, headers: readonly string[]): void {
    try {
      this.#downstream.start(status, statusText, headers);
      this.#phase = "flowing";
      this.#options.judge.onStart(performance.now() - this.#startedAt);
    } catch (cause) {
      this.#stop({ kind: "invalid", cause: hideHeaderError(cause) });
    }
  }

  #release(answer: HeldAnswer): boolean {
    this.#held = undefined;
    this.#start(
      answer.status,
      answer.statusText,
      this.#options.correctsContentType ? answer.typedHeaders : answer.headers,
    );
    if (this.#phase !== "flowing") return true;
    let hasRoom = true;
    for (const chunk of answer.chunks) hasRoom = this.#downstream.write(chunk);
    return hasRoom;
  }
}
