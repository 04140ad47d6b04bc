/**
 * Makes one attempt: sends a request to one channel, and streams its answer to the client as it arrives, or rejects the answer.
 *
 * The connection passes headers and chunks as they are read from the socket; nothing is copied and no promise is created per
 * chunk. Back-pressure is passed on: a client that does not read pauses the upstream's socket. This is a class instead of
 * closures, because the hot path can afford only one object per request.
 */
import { performance } from "node:perf_hooks";
import { runMicrotask } from "../../base/index.ts";
import { AnswerDecoding, areDecoded, type DecodedSink, layersOf } from "./decoding.ts";
import { headerValue } from "./header-value.ts";
import { HeldAnswer, mayBeText, ofError, withoutEncoding } from "./held-answer.ts";
import type { AnswerHandler, RequestInProgress } from "./http/index.ts";
import type { PickerAnswer } from "./picker/answers.ts";
import type { Downstream, UpstreamRequest } from "./ports.ts";
import type { Route, Server } from "./server.ts";

export type AttemptOutcome =
  /** The answer was delivered completely, or broke off after its start. */
  | { readonly kind: "delivered" }
  /** An answer was received but not delivered. */
  | { readonly kind: "judged" }
  /** There is no answer: the connection, TLS or name resolution failed. */
  | { readonly kind: "unreachable"; readonly cause: Error }
  /** The response is not valid HTTP. The message of `cause` may be shown. */
  | { readonly kind: "invalid"; readonly cause: Error }
  /** There was no answer in time. `wasSent`: a connection existed and the request was sent. */
  | { readonly kind: "timeout"; readonly wasSent: boolean }
  /** The endpoint picker selected no server, or withdrew the request before its answer began. */
  | { readonly kind: "declined"; readonly answer: PickerAnswer }
  /** The client left. The upstream request is aborted. */
  | { readonly kind: "abandoned" };

/** Decides whether an answer is sent to the client. It decides synchronously, because the body waits. */
export interface Judge {
  /** Returns whether the answer is sent to the client, or `read` if `acceptsBody` must decide. */
  accepts(status: number, headers: readonly string[]): boolean | "read";
  /** Decides by the body of an answer. The body is no longer than an error message. */
  readonly acceptsBody?: (body: string) => boolean;
  /** Collector of the error's body; `undefined` unless the answer is a failure. Valid after `accepts`. */
  readonly error: { add?(chunk: Buffer): void; end?(): void } | undefined;
  /** Looks for an error within an answer of status 200 before any of it is sent; `undefined` if this is not checked. */
  readonly inside: { event(data: string): Inside; body(body: Buffer): Inside } | undefined;
  /** Whether the request may be retried or fail over. */
  readonly mayMove: boolean;
  /** Called when the answer's content encoding is decoded. */
  decoding(): void;
  /** Called when the answer begins to be sent to the client. `ms`: time since dispatch. */
  started(ms: number): void;
}

/** Result of the check. `moves`: an error that causes a retry or failover. Number: status of an error that becomes the answer. */
export type Inside = "answer" | "moves" | number;

export interface AttemptOptions {
  readonly firstByteTimeoutMs: number | undefined;
  /** Whether the gateway reads the answer and decodes its content encodings. */
  readonly decodes: boolean;
  /** Whether an error within an answer becomes an answer with its own status; otherwise it passes unchanged. */
  readonly mapsErrors: boolean;
  /** Whether the answer is JSON or events, so that its content type is corrected to the actual form. */
  readonly retypes: boolean;
  /** Maximum time in milliseconds that an answer is held back for its first event; 0 for no limit. */
  readonly holdMs: number;
  readonly judge: Judge;
  /** Receives the milliseconds from dispatch to headers, or to the failure. */
  readonly waited: (ms: number) => void;
}

/** Maximum bytes and time spent reading an unwanted answer, so that its connection can be reused. */
const MAX_DISCARDED_BYTES = 64 << 10;
const MAX_DISCARDING_MS = 2_000;

const DELIVERED: AttemptOutcome = { kind: "delivered" };
const JUDGED: AttemptOutcome = { kind: "judged" };
const ABANDONED: AttemptOutcome = { kind: "abandoned" };

type Phase = "waiting" | "holding" | "flowing" | "settled";

/** Makes one attempt. Calls `over`, which must not throw, once with the outcome; after the last byte of a delivered answer. */
export function attempt(
  route: Route,
  request: UpstreamRequest,
  downstream: Downstream,
  options: AttemptOptions,
  over: (outcome: AttemptOutcome) => void,
): void {
  new Attempt(route, request, downstream, options, over).begin();
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
  #sending: RequestInProgress | undefined;
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
      this.#giveUp(ABANDONED);
      return;
    }
    this.#downstream.onGone(() => this.#giveUp(ABANDONED));
    if (firstByteTimeoutMs !== undefined) this.#timer = setTimeout(() => this.#timedOut(), firstByteTimeoutMs);
    this.#route.watch?.onEvicted((answer) => {
      if (!this.#hasHeaders) this.#giveUp({ kind: "declined", answer });
    });
    const server = this.#route.next(undefined);
    if (server !== undefined) this.#dispatch(server);
    else this.#giveUp({ kind: "unreachable", cause: new NoServer(this.#route.noServerReason) });
  }

  #timedOut(): void {
    this.#giveUp({ kind: "timeout", wasSent: this.#sending !== undefined });
  }

  #dispatch(server: Server): void {
    this.#server = server;
    server.beginAttempt();
    server.client.dispatch(this.#request, this);
  }

  /** Ends the attempt at this server. */
  #leave(): void {
    this.#server?.endAttempt();
    this.#server = undefined;
  }

  /** Ends the attempt. `isCut`: the answer is no longer wanted. */
  #over(isCut: boolean): void {
    this.#leave();
    this.#route.watch?.end(isCut);
  }

  onConnected(sending: RequestInProgress): void {
    this.#sending = sending;
    this.#server?.recordConnect();
    if (this.#phase === "settled") this.#abort();
  }

  /** Handles the loss of a reused connection. A failure to connect again counts as if nothing had been sent. */
  onDisconnected(): void {
    this.#sending = undefined;
  }

  #abort(): void {
    this.#sending?.abort(this);
  }

  onHead(status: number, statusText: string, headers: readonly string[], resume: () => void): void {
    if (this.#phase === "settled") return;
    clearTimeout(this.#timer);
    this.#hasHeaders = true;
    const { watch } = this.#route;
    if (watch !== undefined && this.#server !== undefined) {
      watch.reportAnswer(status, headerValue(headers, "content-type"), this.#server);
    }
    this.#options.waited(performance.now() - this.#startedAt);
    const { judge } = this.#options;
    const isAccepted = judge.accepts(status, headers);
    this.#error = judge.error;
    if (isAccepted === false) {
      this.#settle(JUDGED); // The rest of the answer is read and dropped.
      this.#timer = setTimeout(() => this.#abort(), MAX_DISCARDING_MS);
      return;
    }
    this.#resume = resume;
    const plainHeaders = this.#opened(status, headers);
    this.#downstream.onDrain(this.#decoding === undefined ? resume : () => this.#decoding?.resume());
    const { retypes } = this.#options;
    const checksForError = judge.inside !== undefined && status === 200 && (retypes || mayBeText(plainHeaders));
    if (isAccepted === "read" || checksForError) {
      this.#phase = "holding";
      this.#held = new HeldAnswer(status, statusText, plainHeaders, {
        isForBody: isAccepted === "read",
        checksForError,
        awaitsEvent: judge.mayMove || this.#options.mapsErrors,
      });
      // Most answers are complete in the read that contains their head, and need no timer.
      if (isAccepted !== "read" && this.#options.holdMs > 0) runMicrotask(() => this.#limitHold());
      return;
    }
    this.#start(status, statusText, plainHeaders);
  }

  /** Prepares the decoding of the body if it is needed. Returns the headers of the decoded answer. */
  #opened(status: number, headers: readonly string[]): readonly string[] {
    if (!this.#options.decodes || this.#request.method === "HEAD" || status === 204 || status === 304) return headers;
    const layers = layersOf(headerValue(headers, "content-encoding"));
    if (!areDecoded(layers)) return headers;
    this.#decoding = new AnswerDecoding(layers, this);
    this.#options.judge.decoding();
    return withoutEncoding(headers);
  }

  onData(chunk: Buffer): boolean {
    this.#error?.add?.(chunk);
    if (this.#phase === "settled") {
      this.#discardedBytes += chunk.length;
      if (this.#discardedBytes > MAX_DISCARDED_BYTES) this.#abort();
      return true;
    }
    if (this.#decoding !== undefined) return this.#decoding.push(chunk, () => this.#resume?.());
    return this.plain(chunk);
  }

  plain(chunk: Buffer): boolean {
    if (this.#phase === "flowing") return this.#downstream.write(chunk);
    return this.#held === undefined || this.#phase !== "holding" || this.#hold(this.#held, chunk);
  }

  onComplete(): void {
    this.#over(false);
    this.#error?.end?.();
    if (this.#decoding !== undefined && this.#phase !== "settled") this.#decoding.end();
    else this.plainEnd();
  }

  plainEnd(): void {
    if (this.#held !== undefined && this.#phase === "holding") this.#complete(this.#held);
    if (this.#phase === "flowing") this.#downstream.end();
    clearTimeout(this.#timer);
    this.#settle(DELIVERED);
  }

  undecodable(cause: Error): void {
    clearTimeout(this.#timer);
    if (this.#phase === "flowing") {
      this.#downstream.breakOff(cause);
      this.#giveUp(DELIVERED);
    } else this.#giveUp({ kind: "invalid", cause });
  }

  onFailed(cause: Error): void {
    if (this.#sending === undefined && this.#moved(cause)) return;
    this.#over(true);
    this.#error?.end?.();
    this.#decoding?.destroy();
    clearTimeout(this.#timer);
    const held = this.#phase === "holding" ? this.#held : undefined;
    // No other upstream is tried, so the client gets the partial answer and sees that it broke off.
    if (held !== undefined && held.bytes > 0 && !this.#options.judge.mayMove) this.#release(held);
    if (this.#phase === "flowing") {
      this.#downstream.breakOff(cause);
      this.#settle(DELIVERED);
    } else {
      this.#settle(this.#failure(cause));
    }
  }

  /** Classifies a failure without an answer. */
  #failure(cause: Error): AttemptOutcome {
    const code = "code" in cause ? String(cause.code) : "";
    if (SILENCES.has(code)) return { kind: "timeout", wasSent: true };
    return { kind: code === "UPSTREAM_MALFORMED" ? "invalid" : "unreachable", cause };
  }

  /** Moves to the next server after a failed connect, in which nothing was sent. Returns false if there is no further server. */
  #moved(cause: Error): boolean {
    const failed = this.#server;
    if (failed === undefined) return false;
    failed.recordConnectFailure(cause);
    if (this.#phase === "settled") return false;
    const next = this.#route.next(failed);
    if (next === undefined) return false;
    this.#leave();
    this.#dispatch(next);
    return true;
  }

  #settle(outcome: AttemptOutcome): void {
    if (this.#phase === "settled") return;
    if (this.#phase === "waiting" && !this.#hasHeaders) this.#options.waited(performance.now() - this.#startedAt);
    this.#phase = "settled";
    clearTimeout(this.#timer);
    this.#downstream.onGone(undefined);
    this.#onOutcome(outcome);
  }

  /** Ends the upstream request. A request without a connection ends as soon as it gets one. */
  #giveUp(outcome: AttemptOutcome): void {
    this.#settle(outcome);
    this.#decoding?.destroy();
    this.#route.watch?.end(true);
    this.#abort();
  }

  #limitHold(): void {
    if (this.#phase !== "holding" || this.#held === undefined) return;
    this.#timer = setTimeout(() => this.#heldLong(), this.#options.holdMs);
  }

  /** Releases a stream that was silent for too long to the client as it is. */
  #heldLong(): void {
    if (this.#held !== undefined && this.#phase === "holding") this.#release(this.#held);
  }

  #hold(answer: HeldAnswer, chunk: Buffer): boolean {
    const first = answer.add(chunk);
    if (first !== undefined) return this.#judgeInside(answer, this.#options.judge.inside?.event(first), first, false);
    return answer.isWaiting || this.#release(answer);
  }

  #complete(answer: HeldAnswer): void {
    const { judge } = this.#options;
    if (answer.isForBody && judge.acceptsBody?.(answer.body.toString()) === false) {
      this.#settle(JUDGED);
      return;
    }
    const last = answer.last();
    if (last !== undefined) this.#judgeInside(answer, judge.inside?.event(last), last, true);
    else if (answer.checksForError) this.#judgeInside(answer, judge.inside?.body(answer.body), answer.body, true);
    else this.#release(answer);
  }

  /** Handles the result of the check. `errorText`: text that contains the error, if any. `isEnded`: the answer is complete. */
  #judgeInside(answer: HeldAnswer, found: Inside | undefined, errorText: string | Buffer, isEnded: boolean): boolean {
    const passes = found === undefined || found === "answer" || (found !== "moves" && !this.#options.mapsErrors);
    if (passes) return this.#release(answer);
    if (found === "moves") {
      if (isEnded) this.#settle(JUDGED);
      else this.#giveUp(JUDGED);
      return true;
    }
    const body = Buffer.from(errorText);
    this.#held = undefined;
    this.#start(found, "", ofError(answer.headers, body.length));
    if (this.#phase !== "flowing") return true;
    this.#downstream.write(body);
    if (isEnded) return true;
    this.#downstream.end();
    this.#giveUp(DELIVERED);
    return true;
  }

  /**
   * Starts the delivery. If the client's side throws, the attempt is invalid: in the connection, the exception would close it.
   */
  #start(status: number, statusText: string, headers: readonly string[]): void {
    try {
      this.#downstream.start(status, statusText, headers);
      this.#phase = "flowing";
      this.#options.judge.started(performance.now() - this.#startedAt);
    } catch (cause) {
      this.#giveUp({ kind: "invalid", cause: unwritable(cause) });
    }
  }

  #release(answer: HeldAnswer): boolean {
    this.#held = undefined;
    this.#start(answer.status, answer.statusText, this.#options.retypes ? answer.typedHeaders : answer.headers);
    if (this.#phase !== "flowing") return true;
    let hasRoom = true;
    for (const chunk of answer.chunks) hasRoom = this.#downstream.write(chunk);
    return hasRoom;
  }
}

/** Error codes for inactivity, from this client and from undici. */
const SILENCES: ReadonlySet<string> = new Set(["UPSTREAM_SILENT", "UND_ERR_HEADERS_TIMEOUT", "UND_ERR_BODY_TIMEOUT"]);

/** Returns an error that hides the original one, whose message may quote a header. */
function unwritable(cause: unknown): Error {
  const code = cause instanceof Error && "code" in cause ? ` (${String(cause.code)})` : "";
  return new Error(`one of its headers cannot be forwarded${code}`, { cause });
}

/** Error if no server was available. Its message may be shown. */
export class NoServer extends Error {}
