/**
 * One attempt: a request to one channel, its answer flowing to the client as it arrives, or judged and given up.
 *
 * The connection calls in with headers and chunks as they are read from the socket; nothing is copied and no promise is
 * made per chunk. Back-pressure goes through: a client that does not read pauses the upstream's socket. A class, and not
 * closures, since one object a request is what the hot path can afford.
 */
import { performance } from "node:perf_hooks";
import { SseSplitter } from "../core/dialects/index.ts";
import type { AnswerHandler, Sending } from "./http/index.ts";
import type { PickerAnswer } from "./picker/answers.ts";
import type { Downstream, UpstreamRequest } from "./ports.ts";
import type { Route, Server } from "./server.ts";

export type AttemptOutcome =
  /** The answer was handed over whole, or broke off after it had begun. */
  | { readonly kind: "delivered" }
  /** An answer came and was not handed over. */
  | { readonly kind: "judged" }
  /** No answer came: connection, TLS, name or protocol. */
  | { readonly kind: "unreachable"; readonly cause: Error }
  | { readonly kind: "timeout" }
  /** Whoever chooses servers chose none, or took the request back before its answer began. */
  | { readonly kind: "declined"; readonly answer: PickerAnswer }
  /** The client left; the upstream request is aborted. */
  | { readonly kind: "abandoned" };

/** Decides, at once since the body waits, whether an answer goes to the client. */
export interface Judge {
  /** `read`: `acceptsBody` is to be asked. */
  accepts(status: number, headers: readonly string[]): boolean | "read";
  /** Of an answer that is no longer than an error is. */
  readonly acceptsBody?: (body: string) => boolean;
  /** Undefined unless the answer is a failure, once `accepts` was asked. */
  readonly error: { add?(chunk: Buffer): void; end?(): void } | undefined;
  /**
   * Undefined once the request may no longer move. Looks at the first event of an event stream before anything is sent,
   * for a provider may answer 200 and fail in the first event.
   */
  readonly acceptsFirstEvent: ((data: string) => boolean) | undefined;
  /** The answer goes to the client, so many milliseconds after dispatch. */
  started(ms: number): void;
}

export interface AttemptOptions {
  readonly firstByteTimeoutMs: number | undefined;
  readonly judge: Judge;
  /** Milliseconds from dispatch to headers, or to failure. */
  readonly waited: (ms: number) => void;
}

/** What is read of an answer that nobody wants, and for how long, so that its connection can be used again. */
const MAX_DISCARDED_BYTES = 64 << 10;
const MAX_DISCARDING_MS = 2_000;

/** A first event larger than this is no error message. */
const MAX_HELD_BYTES = 64 << 10;
/** Each chunk costs memory beside its bytes. */
const MAX_HELD_CHUNKS = 256;

const DELIVERED: AttemptOutcome = { kind: "delivered" };
const JUDGED: AttemptOutcome = { kind: "judged" };
const TIMEOUT: AttemptOutcome = { kind: "timeout" };
const ABANDONED: AttemptOutcome = { kind: "abandoned" };

type Phase = "waiting" | "holding" | "flowing" | "settled";

/** `over` is told once what it came to, of a delivered answer with its last byte. It must not throw. */
export function attempt(
  route: Route,
  request: UpstreamRequest,
  downstream: Downstream,
  options: AttemptOptions,
  over: (outcome: AttemptOutcome) => void,
): void {
  new Attempt(route, request, downstream, options, over).begin();
}

class Attempt implements AnswerHandler {
  readonly #route: Route;
  readonly #request: UpstreamRequest;
  readonly #downstream: Downstream;
  readonly #options: AttemptOptions;
  readonly #told: (outcome: AttemptOutcome) => void;
  readonly #startedAt = performance.now();
  #phase: Phase = "waiting";
  /** The server it is made at now; undefined once it has ended there. */
  #server: Server | undefined;
  /** Undefined until the request goes out. */
  #sending: Sending | undefined;
  #timer: NodeJS.Timeout | undefined;
  #hasHeaders = false;
  #discardedBytes = 0;
  #held: HeldAnswer | undefined;
  /** Takes the body of an answer that is a failure, delivered or not. */
  #error: Judge["error"];

  constructor(
    route: Route,
    request: UpstreamRequest,
    downstream: Downstream,
    options: AttemptOptions,
    told: (outcome: AttemptOutcome) => void,
  ) {
    this.#route = route;
    this.#request = request;
    this.#downstream = downstream;
    this.#options = options;
    this.#told = told;
  }

  begin(): void {
    const { firstByteTimeoutMs } = this.#options;
    if (this.#downstream.gone) {
      this.#giveUp(ABANDONED);
      return;
    }
    this.#downstream.onGone(() => this.#giveUp(ABANDONED));
    if (firstByteTimeoutMs !== undefined) this.#timer = setTimeout(() => this.#giveUp(TIMEOUT), firstByteTimeoutMs);
    this.#route.watch?.onEvicted((answer) => {
      if (!this.#hasHeaders) this.#giveUp({ kind: "declined", answer });
    });
    const server = this.#route.next(undefined);
    if (server !== undefined) this.#dispatch(server);
    else this.#giveUp({ kind: "unreachable", cause: new NoServer(this.#route.whyNone) });
  }

  #dispatch(server: Server): void {
    this.#server = server;
    server.begun();
    server.client.dispatch(this.#request, this);
  }

  /** It is made at this server no more. */
  #leave(): void {
    this.#server?.ended();
    this.#server = undefined;
  }

  /** It is made at no server any more. */
  #over(isCut: boolean): void {
    this.#leave();
    this.#route.watch?.ended(isCut);
  }

  connected(sending: Sending): void {
    this.#sending = sending;
    this.#server?.connected();
    if (this.#phase === "settled") this.#abort();
  }

  /** Until it is connected again: what cannot be connected to then is as if nothing had been sent. */
  disconnected(): void {
    this.#sending = undefined;
  }

  #abort(): void {
    this.#sending?.abort(this);
  }

  head(status: number, statusText: string, headers: readonly string[], resume: () => void): void {
    if (this.#phase === "settled") return;
    clearTimeout(this.#timer);
    this.#hasHeaders = true;
    const { watch } = this.#route;
    if (watch !== undefined && this.#server !== undefined) {
      watch.answered(status, headerValue(headers, "content-type"), this.#server);
    }
    this.#options.waited(performance.now() - this.#startedAt);
    const { judge } = this.#options;
    const isAccepted = judge.accepts(status, headers);
    this.#error = judge.error;
    if (isAccepted === false) {
      this.#settle(JUDGED); // nobody waits for the rest
      this.#timer = setTimeout(() => this.#abort(), MAX_DISCARDING_MS);
      return;
    }
    this.#downstream.onDrain(resume);
    if (isAccepted === "read") {
      this.#phase = "holding";
      this.#held = { status, statusText, headers, splitter: undefined, chunks: [], bytes: 0 };
      return;
    }
    if (judge.acceptsFirstEvent !== undefined && status === 200 && isEventStream(headers)) {
      this.#phase = "holding";
      this.#held = { status, statusText, headers, splitter: new SseSplitter(), chunks: [], bytes: 0 };
      return;
    }
    this.#start(status, statusText, headers);
  }

  data(chunk: Buffer): boolean {
    this.#error?.add?.(chunk);
    if (this.#phase === "flowing") return this.#downstream.write(chunk);
    if (this.#held !== undefined && this.#phase === "holding") return this.#hold(this.#held, chunk);
    this.#discardedBytes += chunk.length;
    if (this.#discardedBytes > MAX_DISCARDED_BYTES) this.#abort();
    return true;
  }

  complete(): void {
    this.#over(false);
    this.#error?.end?.();
    if (this.#held !== undefined && this.#phase === "holding") this.#complete(this.#held);
    if (this.#phase === "flowing") this.#downstream.end();
    clearTimeout(this.#timer);
    this.#settle(DELIVERED);
  }

  failed(cause: Error): void {
    if (this.#sending === undefined && this.#moved(cause)) return;
    this.#over(true);
    this.#error?.end?.();
    clearTimeout(this.#timer);
    if (this.#phase === "flowing") {
      this.#downstream.breakOff(cause);
      this.#settle(DELIVERED);
    } else {
      this.#settle({ kind: "unreachable", cause });
    }
  }

  /** Nothing was sent where nobody could be connected to: the next server is as good. True: the request is there now. */
  #moved(cause: Error): boolean {
    const failed = this.#server;
    if (failed === undefined) return false;
    failed.unreachable(cause);
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
    this.#told(outcome);
  }

  /** Ends the upstream request; before it has a connection, as soon as it gets one. */
  #giveUp(outcome: AttemptOutcome): void {
    this.#settle(outcome);
    this.#route.watch?.ended(true);
    this.#abort();
  }

  #hold(answer: HeldAnswer, chunk: Buffer): boolean {
    answer.chunks.push(chunk);
    answer.bytes += chunk.length;
    const first = answer.splitter?.push(chunk).find((event) => event.data !== undefined);
    const isSmall = answer.bytes <= MAX_HELD_BYTES && answer.chunks.length < MAX_HELD_CHUNKS;
    if (first === undefined && isSmall) return true;
    if (first?.data !== undefined && this.#options.judge.acceptsFirstEvent?.(first.data) === false) {
      this.#giveUp(JUDGED);
      return true;
    }
    return this.#release(answer);
  }

  #complete(answer: HeldAnswer): void {
    const isRead = answer.splitter === undefined;
    if (isRead && this.#options.judge.acceptsBody?.(Buffer.concat(answer.chunks).toString()) === false) {
      this.#settle(JUDGED);
      return;
    }
    this.#release(answer);
  }

  /** An answer that cannot be passed on is none; thrown into the connection, it would end it. */
  #start(status: number, statusText: string, headers: readonly string[]): void {
    try {
      this.#downstream.start(status, statusText, headers);
      this.#phase = "flowing";
      this.#options.judge.started(performance.now() - this.#startedAt);
    } catch (cause) {
      this.#giveUp({ kind: "unreachable", cause: cause instanceof Error ? cause : new Error(String(cause)) });
    }
  }

  #release(answer: HeldAnswer): boolean {
    this.#held = undefined;
    this.#start(answer.status, answer.statusText, answer.headers);
    if (this.#phase !== "flowing") return true;
    let hasRoom = true;
    for (const chunk of answer.chunks) hasRoom = this.#downstream.write(chunk);
    return hasRoom;
  }
}

/** There was nobody to connect to. Its message may be shown. */
export class NoServer extends Error {}

interface HeldAnswer {
  readonly status: number;
  readonly statusText: string;
  readonly headers: readonly string[];
  /** Of an event stream; undefined: the whole body is waited for. */
  readonly splitter: SseSplitter | undefined;
  readonly chunks: Buffer[];
  bytes: number;
}

function isEventStream(headers: readonly string[]): boolean {
  return headerValue(headers, "content-type")?.toLowerCase().startsWith("text/event-stream") === true;
}

/** The first value of a header in raw pairs; `name` in lower case. */
export function headerValue(headers: readonly string[], name: string): string | undefined {
  for (let i = 0; i < headers.length; i += 2) {
    const candidate = headers[i] as string;
    if (candidate.length === name.length && candidate.toLowerCase() === name) {
      return headers[i + 1];
    }
  }
  return undefined;
}
