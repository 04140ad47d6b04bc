/**
 * Edits an answer on its way to the client: each event of a stream, a JSON body once, anything else not at all. It also meters
 * the answer.
 */
import { GatewayError } from "../../../../base/index.ts";
import {
  type AnswerEdits,
  countEvents,
  editEvent,
  editJson,
  editWithoutParsing,
  hasNoUsage,
  type SseEvent,
  SseSplitter,
} from "../../../core/dialects/index.ts";
import { BodyBuffer, type RequestMemory } from "../../../memory/index.ts";
import { type Downstream, headerValue, PassThrough } from "../../../upstream/index.ts";
import type { AnswerMeter } from "../../metering/index.ts";

/** Maximum size of a JSON answer that is edited; a larger one passes unchanged. Models lists and completions are far smaller. */
const MAX_REWRITTEN_BYTES = 32 << 20;

/** Processing mode. `over`: nothing more is sent to the client. */
type Mode = "pass" | "events" | "whole" | "over";

interface Rewrites {
  readonly edits: AnswerEdits | undefined;
  /** Extends a whole JSON body after the edits. */
  readonly extend: ((body: Buffer) => Buffer) | undefined;
  /** Reads the original answer, before it is edited. */
  readonly meter: AnswerMeter | undefined;
  /** Memory account of the answer. */
  readonly answerMemory: RequestMemory;
}

export function rewriteAnswer(to: Downstream, rewrites: Rewrites): Downstream {
  return new RewrittenAnswer(to, rewrites);
}

/**
 * This is a class because there is one object per request: each evaluation of a literal with a getter would create a new hidden
 * class.
 */
class RewrittenAnswer extends PassThrough {
  readonly #edits: AnswerEdits | undefined;
  readonly #extend: Rewrites["extend"];
  readonly #meter: AnswerMeter | undefined;
  readonly #answerMemory: RequestMemory;
  #mode: Mode = "pass";
  #meteredParts: ReturnType<AnswerMeter["beginAnswer"]> = "nothing";
  /** Splitter of the stream; `undefined` unless events are parsed. */
  #splitter: SseSplitter | undefined;
  /** Accounted bytes of the incomplete event. */
  #eventBytes = 0;
  #held: BodyBuffer | undefined;
  #hasRead = false;

  constructor(to: Downstream, { edits, extend, meter, answerMemory }: Rewrites) {
    super(to);
    this.#edits = edits;
    this.#extend = extend;
    this.#meter = meter;
    this.#answerMemory = answerMemory;
  }

  override start(status: number, statusText: string, headers: readonly string[]): void {
    const changes = this.#edits !== undefined || this.#extend !== undefined;
    this.#mode = changes ? modeOf(status, headers) : "pass";
    this.#meteredParts = this.#meter?.beginAnswer(status, headers) ?? "nothing";
    if (this.#mode === "events" || this.#meteredParts === "events") this.#splitter = new SseSplitter();
    super.start(status, statusText, this.#mode === "pass" ? headers : withoutLength(headers));
  }

  override write(chunk: Buffer): boolean {
    if (this.#meteredParts === "bytes") this.#meter?.readBytes(chunk);
    if (this.#splitter !== undefined) return this.#writeEvents(chunk, this.#splitter);
    if (this.#mode === "over") return true;
    return this.#mode === "whole" ? this.#hold(chunk) : super.write(chunk);
  }

  override end(): void {
    const last = this.#splitter?.takeUnfinishedEvent();
    if (last !== undefined) this.#processEvent(last);
    this.#meter?.endAnswer();
    if (this.#mode === "whole" && this.#held !== undefined) {
      const body = this.#held.take();
      const edited = this.#edits === undefined ? body : editJson(body, this.#edits);
      super.write(this.#extend === undefined ? edited : this.#extend(edited));
    }
    if (this.#mode !== "over") super.end();
  }

  override breakOff(cause: Error): void {
    const last = this.#splitter?.takeEventEndingInCr();
    if (last !== undefined) this.#processEvent(last);
    this.#meter?.breakAnswer();
    super.breakOff(cause);
  }

  #writeEvents(chunk: Buffer, splitter: SseSplitter): boolean {
    const whole = this.#forwardUnparsed(chunk, splitter);
    if (whole !== undefined) return super.write(whole);
    let hasRoom = true;
    const events = splitter.push(chunk);
    const { heldBytes } = splitter;
    const more = heldBytes - this.#eventBytes;
    if (more !== 0 && !this.#orBreakOff(() => this.#answerMemory.change(more))) return true;
    this.#eventBytes = heldBytes;
    for (const event of events) hasRoom = this.#processEvent(event) ?? hasRoom;
    return this.#mode === "events" ? hasRoom : super.write(chunk);
  }

  /** Processes an event. Returns whether the client has room, or `undefined` if nothing was written. */
  #processEvent(event: SseEvent): boolean | undefined {
    if (this.#meteredParts === "events" && event.data !== undefined) {
      this.#hasRead = true;
      this.#meter?.readEvent(event.data);
    }
    if (this.#mode !== "events") return undefined;
    const bytes = this.#edits === undefined ? event.bytes : editEvent(event, this.#edits);
    return bytes === undefined || bytes.length === 0 ? undefined : super.write(bytes);
  }

  /**
   * Returns the bytes to send if the chunk can be forwarded without parsing its events, as most chunks can; otherwise
   * `undefined`.
   */
  #forwardUnparsed(chunk: Buffer, splitter: SseSplitter): Buffer | undefined {
    const isMetered = this.#meteredParts === "events";
    // The first event may be an error in any form.
    const isFirst = !this.#hasRead && isMetered;
    if (isFirst || !splitter.isEmpty) return undefined;
    const text = chunk.toString("latin1");
    if (isMetered && !hasNoUsage(chunk, text)) return undefined;
    const edits = this.#mode === "events" ? this.#edits : undefined;
    const edited = edits === undefined ? chunk : editWithoutParsing(chunk, edits, text);
    if (edited !== undefined && isMetered) this.#meter?.countEvents(countEvents(text));
    return edited;
  }

  #hold(chunk: Buffer): boolean {
    this.#held ??= new BodyBuffer(this.#answerMemory, MAX_REWRITTEN_BYTES);
    if (this.#held.bytes + chunk.length > MAX_REWRITTEN_BYTES) {
      this.#mode = "pass";
      const all = this.#held.take();
      if (all.length > 0) super.write(all);
      return super.write(chunk);
    }
    const held = this.#held;
    this.#orBreakOff(() => held.add(chunk));
    return true;
  }

  /** Breaks the answer off if the memory budget is exhausted: its beginning has been sent, so it can no longer be refused. */
  #orBreakOff(hold: () => void): boolean {
    try {
      hold();
      return true;
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      this.#mode = "over";
      this.#held = undefined;
      this.#splitter = undefined;
      this.breakOff(error);
      return false;
    }
  }
}

function modeOf(status: number, headers: readonly string[]): Mode {
  const encoding = headerValue(headers, "content-encoding");
  if (status !== 200 || (encoding !== undefined && encoding !== "identity")) return "pass";
  const type = headerValue(headers, "content-type")?.toLowerCase() ?? "";
  if (type.startsWith("text/event-stream")) return "events";
  return type.startsWith("application/json") ? "whole" : "pass";
}

function withoutLength(headers: readonly string[]): string[] {
  const kept: string[] = [];
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i] as string;
    if (name.toLowerCase() !== "content-length") kept.push(name, headers[i + 1] as string);
  }
  return kept;
}
