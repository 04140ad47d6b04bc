/**
 * Translates the answer of a channel of another dialect: a stream event by event, anything else once it is complete. An answer
 * that cannot be read becomes an error in the client's dialect; missing data is not guessed.
 *
 * Source: dialects reference, 9 and 10.
 */
import { performance } from "node:perf_hooks";
import { GatewayError } from "../../../../base/index.ts";
import {
  AnswerProblem,
  type AnswerStamp,
  type AnswerTranslation,
  type Dialect,
  MAX_EVENT_BYTES,
  type SseEvent,
  SseSplitter,
  type StreamTranslation,
  translateError,
} from "../../../core/dialects/index.ts";
import { BodyBuffer, type RequestMemory } from "../../../memory/index.ts";
import { type Downstream, headerValue } from "../../../upstream/index.ts";
import type { AnswerMeter, MeteredParts } from "../../metering/index.ts";
import { translatedHeaders } from "./translated-headers.ts";

/** Maximum size of an answer that is not a stream. No real completion is larger. */
const MAX_WHOLE_BYTES = 32 << 20;
/** Maximum size of an error that is parsed. For a larger one the client gets only the status. */
const MAX_ERROR_BYTES = 1 << 20;

/**
 * Limits for data that a provider sends after its answer is complete, and for the wait for usage after it. Beyond either, the
 * connection is closed.
 */
const MAX_TRAILING_BYTES = 64 << 10;
const MAX_TRAILING_MS = 1_000;

const MAX_SEED_LENGTH = 64;
const OWN_ID = /^[\w-]{1,64}$/;

const EVENT_STREAM = "text/event-stream; charset=utf-8";
const JSON_TYPE = "application/json";
const BLANK_LINE = Buffer.from("\n\n");
const NOTHING = "";
const NO_BYTES = Buffer.alloc(0);

interface TranslatingOptions {
  /** Dialect of the client. */
  readonly dialect: Dialect;
  readonly answerReader: AnswerTranslation;
  /** Extends a whole answer after translation. */
  readonly extend: ((body: Buffer) => Buffer) | undefined;
  /** Whether the client requested a stream. */
  readonly streams: boolean;
  readonly requestId: string;
  /** Called when a stream has begun. */
  readonly onStreamBegin: ((stream: StreamTranslation) => void) | undefined;
  /**
   * Memory of items; set if ids of the answer must identify the node that remembers it. Otherwise ids derive from the request's
   * id.
   */
  readonly recorder: ItemRecorder | undefined;
  /** Reads the original answer; `undefined` if the request is not metered. */
  readonly meter: AnswerMeter | undefined;
  /** Memory account of the answer, until the client has received it. */
  readonly answerMemory: RequestMemory;
  /** Returns the time in milliseconds since 1970. */
  readonly now: () => number;
  /** Receives the time of waiting for the rest of an answer, in milliseconds, which is not overhead of the gateway. */
  readonly onWait: (ms: number) => void;
}

export interface ItemRecorder {
  readonly seed: string;
  /** Remembers items of the answer; `undefined` if the client asked not to store the response. */
  readonly remember: AnswerStamp["remember"];
}

export function translateAnswer(to: Downstream, options: TranslatingOptions): Downstream {
  return new TranslatedAnswer(to, options);
}

/** Processing mode. `passing`: the status is neither a success nor an error. `over`: nothing more is sent to the client. */
type Mode = "stream" | "whole" | "error" | "passing" | "over";

class TranslatedAnswer implements Downstream {
  readonly #to: Downstream;
  readonly #options: TranslatingOptions;
  readonly #splitter = new SseSplitter();
  #mode: Mode = "whole";
  #translation: StreamTranslation | undefined;
  #meteredParts: MeteredParts = "nothing";
  #status = 0;
  #statusText = "";
  #headers: readonly string[] = [];
  readonly #held: BodyBuffer;
  /** Size of the body, including bytes beyond the limits, which are not kept. */
  #bodyBytes = 0;
  /** Accounted bytes of the incomplete event. */
  #eventBytes = 0;
  #begunAt = 0;
  /** Ends the attempt at the provider as if the client had left. */
  #abortAttempt: (() => void) | undefined;
  #trailingBytes = 0;
  #trailingTimer: NodeJS.Timeout | undefined;

  constructor(to: Downstream, options: TranslatingOptions) {
    this.#to = to;
    this.#options = options;
    this.#held = new BodyBuffer(options.answerMemory, MAX_WHOLE_BYTES);
  }

  get isGone(): boolean {
    return this.#to.isGone;
  }

  onGone(listener: (() => void) | undefined): void {
    if (listener === undefined) clearTimeout(this.#trailingTimer);
    this.#abortAttempt = listener;
    this.#to.onGone(listener);
  }

  onDrain(listener: () => void): void {
    this.#to.onDrain(listener);
  }

  start(status: number, statusText: string, headers: readonly string[]): void {
    this.#meteredParts = this.#options.meter?.beginAnswer(status, headers) ?? "nothing";
    this.#status = status;
    this.#statusText = statusText;
    this.#headers = headers;
    if (status >= 400) this.#mode = "error";
    else if (status >= 300) this.#mode = "passing";
    else if (isOfType(headers, "text/event-stream"))
      this.#translation = this.#options.answerReader.openStream(this.#stamp());
    if (this.#translation !== undefined) {
      this.#mode = "stream";
      this.#options.onStreamBegin?.(this.#translation);
    }
    if (this.#mode === "stream" || this.#mode === "passing") {
      const type = this.#mode === "stream" ? EVENT_STREAM : undefined;
      this.#to.start(
        status,
        statusText,
        type === undefined ? headers : translatedHeaders(this.#headers, type, undefined),
      );
      return;
    }
    this.#begunAt = performance.now();
  }

  write(chunk: Buffer): boolean {
    if (this.#meteredParts === "bytes") this.#options.meter?.readBytes(chunk);
    switch (this.#mode) {
      case "stream":
        return this.#writeEvents(this.#splitter.push(chunk)) && this.#accountForEvent() && this.#limitEnding(chunk);
      case "passing":
        return this.#to.write(chunk);
      case "over":
        this.#trailingBytes += chunk.length;
        if (this.#trailingBytes > MAX_TRAILING_BYTES) this.#abortAttempt?.();
        return true;
      default:
        return this.#hold(chunk);
    }
  }

  end(): void {
    switch (this.#mode) {
      case "stream":
        // Some providers end without the blank line that terminates the last event.
        if (!this.#splitter.isEmpty) this.#writeEvents(this.#splitter.push(BLANK_LINE));
        this.#endStream();
        return;
      case "passing":
        this.#options.meter?.endAnswer();
        this.#to.end();
        return;
      case "over":
        return;
      default:
        this.#options.onWait(performance.now() - this.#begunAt);
        this.#endWhole(this.#held.take());
    }
  }

  breakOff(cause: Error): void {
    if (this.#mode === "over") return;
    if (this.#isEnding) {
      this.#endStream();
      return;
    }
    this.#mode = "over";
    this.#options.meter?.breakAnswer();
    this.#to.breakOff(cause);
  }

  #writeEvents(events: readonly SseEvent[]): boolean {
    const translation = this.#translation;
    if (translation === undefined || this.#mode !== "stream") return true;
    let frames = NOTHING;
    const problem = problemOf(() => {
      for (const event of events) {
        if (event.data !== undefined && this.#meteredParts === "events") this.#options.meter?.readEvent(event.data);
        frames += framesOf(translation, event);
        if (isOver(translation)) break;
      }
    });
    const hasRoom = frames === NOTHING || this.#to.write(Buffer.from(frames));
    if (problem !== undefined) this.#giveUp(problem);
    else if (translation.state === "failed") this.#endFailed();
    else if (translation.state === "ended") this.#endComplete();
    return hasRoom || translation.state !== "open";
  }

  /** Whether the answer is complete, but its usage may still follow. */
  get #isEnding(): boolean {
    return this.#mode === "stream" && this.#translation?.state === "ending";
  }

  /** Limits the wait for usage after a complete answer, since the client waits too. Returns true. */
  #limitEnding(chunk: Buffer): boolean {
    if (!this.#isEnding) return true;
    this.#trailingBytes += chunk.length;
    if (this.#trailingBytes > MAX_TRAILING_BYTES) this.#endWithoutUsage();
    else this.#trailingTimer ??= setTimeout(() => this.#endWithoutUsage(), MAX_TRAILING_MS);
    return true;
  }

  #endWithoutUsage(): void {
    this.#endStream();
    this.#abortAttempt?.();
  }

  /**
   * Ends the client's answer without waiting for a provider that keeps sending. The connection of a provider that ends soon is
   * kept.
   */
  #endComplete(): void {
    this.#mode = "over";
    this.#options.meter?.endAnswer();
    this.#to.end();
    clearTimeout(this.#trailingTimer);
    this.#trailingTimer = setTimeout(() => this.#abortAttempt?.(), MAX_TRAILING_MS);
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
    this.#options.meter?.endAnswer();
    if (frames !== NOTHING) this.#to.write(Buffer.from(frames));
    this.#to.end();
  }

  /** Ends a stream whose last frame was the provider's own error. */
  #endFailed(): void {
    this.#mode = "over";
    this.#options.meter?.breakAnswer();
    this.#to.end();
    this.#abortAttempt?.();
  }

  #endWhole(body: Buffer): void {
    const { dialect, answerReader, streams, extend, requestId } = this.#options;
    if (this.#mode === "error") {
      const error = { status: this.#status, body: this.#bodyBytes > MAX_ERROR_BYTES ? "" : textOf(body), requestId };
      const translated = translateError(dialect, error);
      this.#options.meter?.endAnswer();
      this.#send(translated.status, JSON_TYPE, Buffer.from(translated.body));
      return;
    }
    let answer = NO_BYTES;
    const problem = problemOf(() => {
      answer = Buffer.from(answerReader.translateWhole(textOf(body), this.#stamp(), streams));
    });
    if (problem !== undefined) {
      this.breakOff(problem);
      return;
    }
    this.#options.meter?.endAnswer();
    this.#send(this.#status, streams ? EVENT_STREAM : JSON_TYPE, extend === undefined ? answer : extend(answer));
  }

  #send(status: number, type: string, body: Buffer): void {
    // A slow client may need a long time to read it.
    if (!this.#orGiveUp(() => this.#options.answerMemory.hold(body.length))) return;
    this.#mode = "over";
    this.#to.start(status, this.#statusText, translatedHeaders(this.#headers, type, body.length));
    this.#to.write(body);
    this.#to.end();
  }

  /** Breaks off the answer, and the call of the provider, which is still sending. */
  #giveUp(problem: Error): void {
    this.breakOff(problem);
    this.#held.clear();
    this.#abortAttempt?.();
  }

  #hold(chunk: Buffer): boolean {
    this.#bodyBytes += chunk.length;
    if (this.#mode === "error" && this.#bodyBytes > MAX_ERROR_BYTES) return true; // a longer error is not parsed
    if (this.#bodyBytes > MAX_WHOLE_BYTES) {
      this.#giveUp(new AnswerProblem("the provider's answer is too long"));
      return true;
    }
    this.#orGiveUp(() => this.#held.add(chunk));
    return true;
  }

  /** Accounts for the incomplete event. */
  #accountForEvent(): boolean {
    const { heldBytes } = this.#splitter;
    const more = heldBytes - this.#eventBytes;
    this.#eventBytes = heldBytes;
    return more === 0 || this.#orGiveUp(() => this.#options.answerMemory.change(more));
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
    const { now, requestId, recorder } = this.#options;
    const created = Math.floor(now() / 1_000);
    if (recorder === undefined) return new Stamp(created, requestId);
    return { created, now: () => Math.floor(now() / 1_000), ...recorder };
  }
}

/** Stamp of an answer. The seed is computed on demand, because few answers need it. */
class Stamp implements AnswerStamp {
  readonly created: number;
  readonly #requestId: string;

  constructor(created: number, requestId: string) {
    this.created = created;
    this.#requestId = requestId;
  }

  /** Seed for ids of the answer. It is sanitized, because a client may have chosen its request's id. */
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

const isOver = ({ state }: StreamTranslation): boolean => state === "ended" || state === "failed";

function framesOf(translation: StreamTranslation, { event, data, bytes }: SseEvent): string {
  if (data !== undefined) return isOver(translation) ? NOTHING : translation.translateEvent(event, data);
  if (bytes.length > MAX_EVENT_BYTES) throw new AnswerProblem("an event of the provider is too long");
  // A block without data is a comment or a lone field. It serves as a heartbeat.
  return bytes.length > BLANK_LINE.length && translation.state === "open" ? translation.keepAlive() : NOTHING;
}

function isOfType(headers: readonly string[], type: string): boolean {
  return headerValue(headers, "content-type")?.toLowerCase().startsWith(type) === true;
}

/** Decodes a body and removes the byte order mark that some servers send, as clients do (RFC 8259, section 8.1). */
const textOf = (body: Buffer): string => body.toString("utf8").replace(/^\uFEFF/, "");
