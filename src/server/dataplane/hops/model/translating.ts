/**
 * The answer of a channel of the other dialect, on its way to the client: a stream event by event, anything else once it
 * is here whole. An answer that cannot be read is an error in the client's dialect, never a guess.
 *
 * Source: dialects reference, 9 and 10.
 */
import { performance } from "node:perf_hooks";
import { GatewayError } from "../../../../base/index.ts";
import {
  AnswerProblem,
  type AnswerReading,
  type AnswerStamp,
  type Dialect,
  MAX_EVENT_BYTES,
  type SseEvent,
  SseSplitter,
  type StreamTranslation,
  translateError,
} from "../../../core/dialects/index.ts";
import { Gathering, type Holding } from "../../../memory/index.ts";
import { type Downstream, headerValue } from "../../../upstream/index.ts";
import { lowerCase } from "../../headers.ts";
import type { AnswerMeter, Shown } from "../../metering/index.ts";

/** A larger answer is no completion. */
const MAX_WHOLE_BYTES = 32 << 20;
/** A larger error is not read: the client is told its status. */
const MAX_ERROR_BYTES = 1 << 20;

/** What a provider may still say once its answer is complete; past either it is left, and its connection with it. */
const MAX_TRAILING_BYTES = 64 << 10;
const MAX_TRAILING_MS = 1_000;

const MAX_SEED_LENGTH = 64;
const OWN_ID = /^[\w-]{1,64}$/;

const EVENT_STREAM = "text/event-stream; charset=utf-8";
const JSON_TYPE = "application/json";
const CONTENT_TYPE = "content-type";
const CONTENT_LENGTH = "content-length";
const REQUEST_ID = "request-id";
const LONG_REQUEST_ID = "x-request-id";
const BLANK_LINE = Buffer.from("\n\n");
const NOTHING = "";
const NO_BYTES = Buffer.alloc(0);

export interface Translating {
  /** The client's dialect. */
  readonly dialect: Dialect;
  readonly reading: AnswerReading;
  /** Applied to a whole answer that was translated. */
  readonly extend: ((body: Buffer) => Buffer) | undefined;
  /** The client asked for a stream. */
  readonly streams: boolean;
  readonly requestId: string;
  /** Told once a stream has begun. */
  readonly began: ((stream: StreamTranslation) => void) | undefined;
  /** Where ids of the answer name who remembers it; undefined: they are made from the request's. */
  readonly remembering: Remembering | undefined;
  /** Undefined: nobody counts. Sees the answer as it came. */
  readonly meter: AnswerMeter | undefined;
  /** What is held of the answer, until the client has it. */
  readonly holding: Holding;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Milliseconds spent waiting for the rest of an answer: none of it is ours. */
  readonly waited: (ms: number) => void;
}

export interface Remembering {
  readonly seed: string;
  /** Undefined: the client asked that nothing be kept. */
  readonly remember: AnswerStamp["remember"];
}

export function translating(to: Downstream, options: Translating): Downstream {
  return new TranslatedAnswer(to, options);
}

/** `passing`: a status that is neither an answer nor an error. `over`: nothing more goes to the client. */
type Mode = "stream" | "whole" | "error" | "passing" | "over";

class TranslatedAnswer implements Downstream {
  readonly #to: Downstream;
  readonly #options: Translating;
  readonly #splitter = new SseSplitter();
  #mode: Mode = "whole";
  #translation: StreamTranslation | undefined;
  #shown: Shown = "nothing";
  #status = 0;
  #statusText = "";
  #headers: readonly string[] = [];
  readonly #held: Gathering;
  /** Of an error, those included that are not held since they are too many. */
  #bodyBytes = 0;
  /** Of the event that is not whole yet, as far as they are counted. */
  #eventBytes = 0;
  #begunAt = 0;
  /** Ends the attempt at the provider, as if the client had left. */
  #leave: (() => void) | undefined;
  #trailingBytes = 0;
  #trailing: NodeJS.Timeout | undefined;

  constructor(to: Downstream, options: Translating) {
    this.#to = to;
    this.#options = options;
    this.#held = new Gathering(options.holding, MAX_WHOLE_BYTES);
  }

  get gone(): boolean {
    return this.#to.gone;
  }

  onGone(listener: (() => void) | undefined): void {
    if (listener === undefined) clearTimeout(this.#trailing);
    this.#leave = listener;
    this.#to.onGone(listener);
  }

  onDrain(listener: () => void): void {
    this.#to.onDrain(listener);
  }

  start(status: number, statusText: string, headers: readonly string[]): void {
    this.#shown = this.#options.meter?.started(status, headers) ?? "nothing";
    this.#status = status;
    this.#statusText = statusText;
    this.#headers = headers;
    if (status >= 400) this.#mode = "error";
    else if (status >= 300) this.#mode = "passing";
    else if (isOfType(headers, "text/event-stream")) this.#translation = this.#options.reading.stream(this.#stamp());
    if (this.#translation !== undefined) {
      this.#mode = "stream";
      this.#options.began?.(this.#translation);
    }
    if (this.#mode === "stream" || this.#mode === "passing") {
      const type = this.#mode === "stream" ? EVENT_STREAM : undefined;
      this.#to.start(status, statusText, type === undefined ? headers : this.#answerHeaders(type, undefined));
      return;
    }
    this.#begunAt = performance.now();
  }

  write(chunk: Buffer): boolean {
    if (this.#shown === "bytes") this.#options.meter?.bytes(chunk);
    switch (this.#mode) {
      case "stream":
        return this.#writeEvents(this.#splitter.push(chunk)) && this.#holdsEvent();
      case "passing":
        return this.#to.write(chunk);
      case "over":
        this.#trailingBytes += chunk.length;
        if (this.#trailingBytes > MAX_TRAILING_BYTES) this.#leave?.();
        return true;
      default:
        return this.#hold(chunk);
    }
  }

  end(): void {
    switch (this.#mode) {
      case "stream":
        // Some providers end without the blank line that ends their last event.
        if (!this.#splitter.isEmpty) this.#writeEvents(this.#splitter.push(BLANK_LINE));
        this.#endStream();
        return;
      case "passing":
        this.#options.meter?.ended();
        this.#to.end();
        return;
      case "over":
        return;
      default:
        this.#options.waited(performance.now() - this.#begunAt);
        this.#endWhole(this.#held.take());
    }
  }

  breakOff(cause: Error): void {
    if (this.#mode === "over") return;
    this.#mode = "over";
    this.#options.meter?.broken();
    this.#to.breakOff(cause);
  }

  #writeEvents(events: readonly SseEvent[]): boolean {
    const translation = this.#translation;
    if (translation === undefined || this.#mode !== "stream") return true;
    let frames = NOTHING;
    const problem = problemOf(() => {
      for (const event of events) {
        if (event.data !== undefined && this.#shown === "events") this.#options.meter?.event(event.data);
        frames += framesOf(translation, event);
        if (translation.state !== "open") break;
      }
    });
    const hasRoom = frames === NOTHING || this.#to.write(Buffer.from(frames));
    if (problem !== undefined) this.#giveUp(problem);
    else if (translation.state === "failed") this.#endFailed();
    else if (translation.state === "ended") this.#endComplete();
    return hasRoom || translation.state !== "open";
  }

  /** The client need not wait for a provider that goes on; one that ends now keeps its connection. */
  #endComplete(): void {
    this.#mode = "over";
    this.#options.meter?.ended();
    this.#to.end();
    this.#trailing = setTimeout(() => this.#leave?.(), MAX_TRAILING_MS);
  }

  #endStream(): void {
    const translation = this.#translation;
    if (translation === undefined || this.#mode !== "stream") return;
    let frames = NOTHING;
    const problem = problemOf(() => {
      frames = translation.end();
    });
    if (problem !== undefined) {
      this.breakOff(problem);
      return;
    }
    this.#mode = "over";
    this.#options.meter?.ended();
    if (frames !== NOTHING) this.#to.write(Buffer.from(frames));
    this.#to.end();
  }

  /** The provider's own error went to the client as the last frame. */
  #endFailed(): void {
    this.#mode = "over";
    this.#options.meter?.broken();
    this.#to.end();
    this.#leave?.();
  }

  #endWhole(body: Buffer): void {
    const { dialect, reading, streams, extend, requestId } = this.#options;
    if (this.#mode === "error") {
      const error = { status: this.#status, body: this.#bodyBytes > MAX_ERROR_BYTES ? "" : textOf(body), requestId };
      const translated = translateError(dialect, error);
      this.#options.meter?.ended();
      this.#send(translated.status, JSON_TYPE, Buffer.from(translated.body));
      return;
    }
    let answer = NO_BYTES;
    const problem = problemOf(() => {
      answer = Buffer.from(reading.whole(textOf(body), this.#stamp(), streams));
    });
    if (problem !== undefined) {
      this.breakOff(problem);
      return;
    }
    this.#options.meter?.ended();
    this.#send(this.#status, streams ? EVENT_STREAM : JSON_TYPE, extend === undefined ? answer : extend(answer));
  }

  #send(status: number, type: string, body: Buffer): void {
    // A client may take long to read it.
    if (!this.#orGiveUp(() => this.#options.holding.hold(body.length))) return;
    this.#mode = "over";
    this.#to.start(status, this.#statusText, this.#answerHeaders(type, body.length));
    this.#to.write(body);
    this.#to.end();
  }

  /** While the provider still sends. */
  #giveUp(problem: Error): void {
    this.breakOff(problem);
    this.#held.clear();
    this.#leave?.();
  }

  #hold(chunk: Buffer): boolean {
    this.#bodyBytes += chunk.length;
    if (this.#mode === "error" && this.#bodyBytes > MAX_ERROR_BYTES) return true; // its beginning is not read either
    if (this.#bodyBytes > MAX_WHOLE_BYTES) {
      this.#giveUp(new AnswerProblem("the provider's answer is too long"));
      return true;
    }
    this.#orGiveUp(() => this.#held.add(chunk));
    return true;
  }

  /** Counts the event that is not whole yet. */
  #holdsEvent(): boolean {
    const { heldBytes } = this.#splitter;
    const more = heldBytes - this.#eventBytes;
    this.#eventBytes = heldBytes;
    return more === 0 || this.#orGiveUp(() => this.#options.holding.change(more));
  }

  #orGiveUp(hold: () => void): boolean {
    try {
      hold();
      return true;
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      this.#giveUp(error);
      return false;
    }
  }

  #stamp(): AnswerStamp {
    const { now, requestId, remembering } = this.#options;
    const created = Math.floor(now() / 1_000);
    if (remembering === undefined) return new Stamp(created, requestId);
    return { created, now: () => Math.floor(now() / 1_000), ...remembering };
  }

  /** The provider's headers but for those of its body; its request id also under the name that the client's SDK reads. */
  #answerHeaders(type: string, length: number | undefined): string[] {
    const pairs: string[] = [];
    let requestId: string | undefined;
    let isNamed = false;
    let isNamedLong = false;
    for (let at = 0; at < this.#headers.length; at += 2) {
      const written = this.#headers[at] as string;
      const name = lowerCase(written);
      const value = this.#headers[at + 1] as string;
      if (name === "content-type" || name === "content-length" || name === "content-encoding") continue;
      if (name === "request-id") isNamed = true;
      if (name === "x-request-id") isNamedLong = true;
      if (name === "request-id" || name === "x-request-id") requestId = value;
      pairs.push(written, value);
    }
    if (requestId !== undefined && !isNamedLong) pairs.push(LONG_REQUEST_ID, requestId);
    if (requestId !== undefined && !isNamed) pairs.push(REQUEST_ID, requestId);
    pairs.push(CONTENT_TYPE, type);
    if (length !== undefined) pairs.push(CONTENT_LENGTH, String(length));
    return pairs;
  }
}

/** Few answers need a seed. */
class Stamp implements AnswerStamp {
  readonly created: number;
  readonly #requestId: string;

  constructor(created: number, requestId: string) {
    this.created = created;
    this.#requestId = requestId;
  }

  /** A client may have chosen its request's id. */
  get seed(): string {
    const id = this.#requestId;
    return OWN_ID.test(id) ? id : id.replaceAll(/[^A-Za-z0-9_-]/g, "_").slice(0, MAX_SEED_LENGTH);
  }
}

function problemOf(work: () => void): AnswerProblem | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    if (error instanceof AnswerProblem) return error;
    throw error;
  }
}

function framesOf(translation: StreamTranslation, { event, data, bytes }: SseEvent): string {
  if (data !== undefined) return translation.state === "open" ? translation.event(event, data) : NOTHING;
  if (bytes.length > MAX_EVENT_BYTES) throw new AnswerProblem("an event of the provider is too long");
  // A block without data is a comment or a lone field: a sign of life.
  return bytes.length > BLANK_LINE.length && translation.state === "open" ? translation.keepAlive() : NOTHING;
}

function isOfType(headers: readonly string[], type: string): boolean {
  return headerValue(headers, "content-type")?.toLowerCase().startsWith(type) === true;
}

/** Without the byte order mark that some servers send, as clients read it (RFC 8259, 8.1). */
const textOf = (body: Buffer): string => body.toString("utf8").replace(/^\uFEFF/, "");
