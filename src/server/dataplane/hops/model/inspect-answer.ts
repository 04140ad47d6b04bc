/**
 * Applies guardrails to an answer as the last stage before the client, so that the inspected text is the text that is sent,
 * whatever provider and channel it came from. Headers are held back until the first byte that may be sent, so that an answer
 * refused before it has an error status. Source: design decisions, section 11; guardrails reference, 5.3; specification document
 * 3, `response`.
 */
import { GatewayError } from "../../../../base/index.ts";
import {
  AnswerEvents,
  type BodyKind,
  judgedWhole,
  kindOf,
  type MadeAnswer,
  type Mending,
  mediaOf,
  SIGN_OF_LIFE,
  typeOf,
  UnreadableAnswer,
} from "../../../answers/index.ts";
import { after, JudgedAnswer } from "../../../core/guardrails/index.ts";
import { Gathering, readingBytes } from "../../../memory/index.ts";
import type { Downstream } from "../../../upstream/index.ts";
import type { Exchange } from "../../exchange.ts";
import { AnswerHead } from "./answer-head.ts";
import { AnswerRecord, type InspectedDownstream, type Inspecting } from "./answer-record.ts";
import { DrivenWork } from "./async-work.ts";
import { decodedAnswer, MAX_ENCODED_BYTES } from "./decoded-answer.ts";

const NO_BYTES = Buffer.alloc(0);
const OVER = new GatewayError("invalid_request", "The answer has ended.");

export function inspecting(to: Downstream, exchange: Exchange, options: Inspecting): InspectedDownstream {
  return new InspectedAnswer(to, exchange, options);
}

/** Processing mode. `head`: the kind of the body is not known yet. `over`: nothing more is sent to the client. */
type Mode = "head" | "encoded" | BodyKind | "passing" | "over";

class InspectedAnswer implements InspectedDownstream {
  readonly #to: Downstream;
  readonly #exchange: Exchange;
  readonly #options: Inspecting;
  readonly #leaving = new AbortController();
  readonly #answer: JudgedAnswer;
  readonly #work = new DrivenWork({
    out: () => this.#outSoon(),
    fail: (error) => this.#fail(error),
    isOver: () => this.#isOver(),
  });
  #mode: Mode = "head";
  /** Head of the answer; `undefined` until the provider answers. */
  #start: AnswerHead | undefined;
  /** First bytes of a body whose kind is not known yet. */
  #head: Buffer = NO_BYTES;
  #held: Gathering | undefined;
  isDecoded = false;
  /** Inspected events; `undefined` unless the answer is a stream. */
  #events: AnswerEvents | undefined;
  /** Accounted bytes of the stream, including the incomplete event. */
  #heldBytes = 0;
  /** Answer to send after a whole body was inspected. */
  #made: MadeAnswer | undefined;
  #record: AnswerRecord | undefined;
  /** Whether the provider has sent everything. */
  #isEnded = false;
  #leave: (() => void) | undefined;
  #whenOver: (() => void) | undefined;

  constructor(to: Downstream, exchange: Exchange, options: Inspecting) {
    this.#to = to;
    this.#exchange = exchange;
    this.#options = options;
    this.#answer = new JudgedAnswer(options.guard, options.occasion, this.#leaving.signal);
  }

  get isGone(): boolean {
    return this.#to.isGone;
  }

  over(): Promise<void> | undefined {
    if (this.#mode === "over" || this.#start === undefined) return undefined;
    return new Promise((resolve) => {
      this.#whenOver = resolve;
    });
  }

  onGone(listener: (() => void) | undefined): void {
    this.#leave = listener;
    this.#to.onGone(listener === undefined && this.#mode === "over" ? undefined : () => this.#left());
  }

  onDrain(listener: () => void): void {
    this.#work.onResume(listener);
    this.#to.onDrain(() => this.#work.drained());
  }

  start(status: number, statusText: string, headers: readonly string[]): void {
    const start = new AnswerHead(this.#to, this.#exchange, status, statusText, headers);
    this.#start = start;
    if (start.isBodiless) {
      this.#pass();
      return;
    }
    this.#record = new AnswerRecord(this.#exchange, this.#answer, this.#options);
    start.whenSilent(this.#options.heartbeatMs, () => this.#stayAlive());
    if (start.encoding !== "") this.#mode = "encoded";
  }

  write(chunk: Buffer): boolean {
    switch (this.#mode) {
      case "passing":
        return this.#to.write(chunk);
      case "over":
        return true;
      case "head":
        return this.#look(chunk, false);
      case "unreadable":
        this.#fail(new UnreadableAnswer("its alphabet is not supported"));
        return true;
      case "events":
        return this.#work.drive(() => this.#events?.push(chunk));
      default:
        return this.#hold(chunk);
    }
  }

  end(): void {
    this.#isEnded = true;
    switch (this.#mode) {
      case "passing":
        this.#to.end();
        this.#finish();
        return;
      case "over":
        return;
      case "head":
        if (this.#head.length === 0) {
          this.#pass();
          this.#endAs(NO_BYTES);
          return;
        }
        this.#look(NO_BYTES, true);
        if (this.#mode !== "head") this.end();
        return;
      case "encoded":
        this.#start?.waited();
        this.#work.drive(() => this.#decode(this.#held?.take() ?? NO_BYTES));
        return;
      case "events":
        this.#endEvents(undefined);
        return;
      case "unreadable":
        this.write(NO_BYTES);
        return;
      default:
        this.#start?.waited();
        this.#endWhole(this.#held?.take() ?? NO_BYTES);
    }
  }

  breakOff(cause: Error): void {
    if (this.#mode === "over") return;
    this.#isEnded = true;
    if (this.#mode === "events") {
      this.#endEvents(cause);
      return;
    }
    this.#record?.settle();
    this.#finish();
    this.#to.breakOff(cause);
  }

  /** Determines the kind of a body from its first bytes, once it is decoded. */
  #look(chunk: Buffer, isAll: boolean): boolean {
    this.#head = this.#head.length === 0 ? chunk : Buffer.concat([this.#head, chunk]);
    const kind = kindOf(this.#type(), this.#head, isAll);
    if (kind === undefined) return true;
    const head = this.#head;
    this.#head = NO_BYTES;
    this.#mode = kind;
    if (kind === "media") {
      this.#options.sinks.metrics.uninspected(mediaOf(this.#type()));
      this.#start?.waited();
      this.#pass();
    }
    if (kind === "events") this.#openEvents();
    return this.write(head);
  }

  #openEvents(): void {
    this.#start?.waited();
    const { target, sinks } = this.#options;
    this.#events = new AnswerEvents(this.#answer, target, sinks.metrics, {
      woke: () => this.#out(),
      failed: (error) => this.#fail(error),
      silent: () => this.#stayAlive(),
    });
  }

  #endEvents(cause: Error | undefined): void {
    this.#work.drive(
      () => this.#events?.end(),
      () => {
        const error = this.#record?.settle();
        if (error !== undefined) {
          this.#refuse(error);
          return;
        }
        if (cause === undefined) this.#open({ isStream: true });
        if (this.#isOver()) return;
        this.#finish();
        cause === undefined ? this.#to.end() : this.#to.breakOff(cause);
      },
    );
  }

  #hold(chunk: Buffer): boolean {
    const { answers } = this.#options.guard;
    const isHeld = this.#mode === "encoded" || (this.isDecoded && answers.onOversize !== "deny");
    const most = isHeld ? MAX_ENCODED_BYTES : answers.maxBodyBytes;
    this.#held ??= new Gathering(this.#exchange.holding, most, true);
    const held = this.#held;
    if (held.bytes + chunk.length <= most) {
      this.#orRefuse(() => held.add(chunk));
    } else if (isHeld) {
      this.#fail(new UnreadableAnswer("it is encoded, and too long"));
    } else {
      const all = held.take();
      if (!this.#oversize()) return true;
      if (all.length > 0) this.#to.write(all);
      return this.#to.write(chunk);
    }
    return true;
  }

  /** Handles a body above the inspection limit. Returns false if it is refused. */
  #oversize(): boolean {
    const { guard, sinks } = this.#options;
    sinks.metrics.oversize();
    if (guard.answers.onOversize === "deny") {
      this.#answer.refuseOversize();
      this.#out();
      return false;
    }
    this.#start?.waited();
    this.#pass();
    return true;
  }

  async #decode(body: Buffer): Promise<void> {
    const plain = await decodedAnswer(body, this.#start?.encoding ?? "", this.#exchange.holding);
    if (this.#isOver()) return;
    this.#start?.decoded(plain.length);
    this.#mode = "head";
    this.write(plain);
    if (!this.#isOver()) this.end(); // `write` has set the mode for which the answer is ended here
  }

  #endWhole(body: Buffer): void {
    if (body.length > this.#options.guard.answers.maxBodyBytes) {
      if (this.#oversize()) this.#endAs(body);
      return;
    }
    const reading = readingBytes(body);
    if (!this.#orRefuse(() => this.#exchange.holding.hold(reading))) return;
    const { target, sinks } = this.#options;
    this.#work.drive(
      () =>
        after(judgedWhole(body, this.#type(), this.#answer, target, sinks.metrics), (made) => {
          this.#made = made;
        }),
      () => this.#sendWhole(reading),
    );
  }

  #sendWhole(reading: number): void {
    this.#exchange.holding.release(reading);
    const error = this.#record?.settle();
    if (error !== undefined) this.#refuse(error);
    const made = this.#made;
    if (made === undefined || this.#isOver()) return;
    const { body, mending } = made;
    this.#open(mending);
    this.#endAs(body);
  }

  #endAs(body: Buffer): void {
    if (this.#isOver()) return;
    this.#finish();
    if (body.length > 0) this.#to.write(body);
    this.#to.end();
  }

  /** Passes the answer unchanged, because there is nothing left to inspect. */
  #pass(): void {
    this.#record?.settle();
    this.#mode = "passing";
    this.#open({});
  }

  /** Sends the events of one read only after all are inspected, because an error status is clearer than an error event. */
  #outSoon(): void {
    if (this.#events === undefined || this.#isEnded || this.#start?.isSent === true) this.#out();
    else queueMicrotask(() => this.#out());
  }

  /** Sends the released bytes, or refuses the answer. */
  #out(): void {
    if (this.#isOver()) return;
    const events = this.#events;
    const frames = events?.take();
    // Nothing has been sent yet, and an error status is clearer than an error event.
    const isLate = this.#answer.isRefused && this.#start?.isSent !== true;
    if (frames !== undefined && !isLate) {
      this.#open({ isStream: true });
      if (this.#isOver()) return;
      if (!this.#to.write(frames)) this.#work.full();
    }
    if (this.#answer.isRefused) {
      const error = this.#record?.settle();
      this.#refuse(error ?? new GatewayError("guardrail_error", "The answer was refused."));
      return;
    }
    if (events === undefined) return;
    const more = events.heldBytes - this.#heldBytes;
    this.#heldBytes += more;
    this.#orRefuse(() => this.#exchange.holding.change(more));
  }

  #open(mending: Mending): void {
    if (this.#start === undefined || this.#start.isSent || this.#isOver()) return;
    this.#record?.tellHeaders();
    try {
      this.#start.send(mending);
    } catch (error) {
      // Headers that cannot be written make the answer invalid; callers at this stage do not expect an exception.
      this.#fail(error);
    }
  }

  /** Sends the head after a long silence, and a heartbeat if the stream is buffered. */
  #stayAlive(): void {
    this.#open({ isStream: true });
    if (!this.#isOver() && this.#events?.isBuffering === true) this.#to.write(SIGN_OF_LIFE);
  }

  #refuse(error: GatewayError): void {
    const stamp = this.#events?.stamp;
    this.#finish();
    this.#exchange[this.#isEnded ? "endWithError" : "abortWithError"](error, stamp);
  }

  /** Fails an answer that cannot be read or exceeds the memory budget. */
  #fail(error: unknown): void {
    if (this.#isOver()) return;
    this.#record?.settle();
    if (error instanceof GatewayError) this.#refuse(error);
    else {
      this.#finish();
      this.#to.breakOff(error instanceof Error ? error : new Error(String(error)));
    }
    if (!this.#isEnded) this.#leave?.();
  }

  /** Runs `hold`. Returns false if the memory budget is exhausted and the answer was refused. */
  #orRefuse(hold: () => void): boolean {
    try {
      hold();
      return true;
    } catch (error) {
      this.#fail(error);
      return false;
    }
  }

  #type(): AnswerHead["type"] {
    return this.#start?.type ?? typeOf("");
  }

  #isOver(): boolean {
    return this.#mode === "over";
  }

  #left(): void {
    if (!this.#isOver()) this.#record?.settle();
    this.#finish();
    this.#leave?.();
  }

  #finish(): void {
    this.#mode = "over";
    this.#events?.close();
    this.#held?.clear();
    this.#head = NO_BYTES;
    this.#leaving.abort(OVER);
    this.#whenOver?.();
  }
}
