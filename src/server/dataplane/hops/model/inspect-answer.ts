/**
 * Applies guardrails to an answer as the last stage before the client, so that the inspected text is the text that is sent,
 * whatever provider and channel it came from. Headers are held back until the first byte that may be sent, so that an answer
 * refused before it has an error status. Source: design decisions, section 11; guardrails reference, 5.3; specification document
 * 3, `response`.
 */
import { GatewayError } from "../../../../base/index.ts";
import {
  AnswerEvents,
  type BodyChange,
  type BodyKind,
  HEARTBEAT_COMMENT,
  type InspectedBody,
  inspectWhole,
  kindOf,
  mediaOf,
  typeOf,
  UnreadableAnswer,
} from "../../../answers/index.ts";
import { JudgedAnswer, mapMaybePromise } from "../../../core/guardrails/index.ts";
import { BodyBuffer, estimateParsingBytes } from "../../../memory/index.ts";
import type { Downstream } from "../../../upstream/index.ts";
import type { Exchange } from "../../exchange.ts";
import { AnswerHead } from "./answer-head.ts";
import { type AnswerInspection, AnswerRecord, type InspectedDownstream } from "./answer-record.ts";
import { AsyncWork } from "./async-work.ts";
import { decodedAnswer, MAX_ENCODED_BYTES } from "./decoded-answer.ts";

const NO_BYTES = Buffer.alloc(0);
const ANSWER_ENDED = new GatewayError("invalid_request", "The answer has ended.");

export function inspectAnswer(to: Downstream, exchange: Exchange, options: AnswerInspection): InspectedDownstream {
  return new InspectedAnswer(to, exchange, options);
}

/** Processing mode. `head`: the kind of the body is not known yet. `over`: nothing more is sent to the client. */
type Mode = "head" | "encoded" | BodyKind | "passing" | "over";

class InspectedAnswer implements InspectedDownstream {
  readonly #to: Downstream;
  readonly #exchange: Exchange;
  readonly #options: AnswerInspection;
  readonly #leaving = new AbortController();
  readonly #answer: JudgedAnswer;
  readonly #work = new AsyncWork({
    onResult: () => this.#flushSoon(),
    fail: (error) => this.#fail(error),
    hasEnded: () => this.#hasEnded(),
  });
  #mode: Mode = "head";
  /** Head of the answer; `undefined` until the provider answers. */
  #answerHead: AnswerHead | undefined;
  /** First bytes of a body whose kind is not known yet. */
  #firstBytes: Buffer = NO_BYTES;
  #body: BodyBuffer | undefined;
  isDecoded = false;
  /** Inspected events; `undefined` unless the answer is a stream. */
  #events: AnswerEvents | undefined;
  /** Accounted bytes of the stream, including the incomplete event. */
  #heldBytes = 0;
  /** Answer to send after a whole body was inspected. */
  #inspectedBody: InspectedBody | undefined;
  #record: AnswerRecord | undefined;
  /** Whether the provider has sent everything. */
  #isEnded = false;
  #abortAttempt: (() => void) | undefined;
  #onFinished: (() => void) | undefined;

  constructor(to: Downstream, exchange: Exchange, options: AnswerInspection) {
    this.#to = to;
    this.#exchange = exchange;
    this.#options = options;
    this.#answer = new JudgedAnswer(options.guard, options.inspectionContext, this.#leaving.signal);
  }

  get isGone(): boolean {
    return this.#to.isGone;
  }

  whenFinished(): Promise<void> | undefined {
    if (this.#mode === "over" || this.#answerHead === undefined) return undefined;
    return new Promise((resolve) => {
      this.#onFinished = resolve;
    });
  }

  onGone(listener: (() => void) | undefined): void {
    this.#abortAttempt = listener;
    this.#to.onGone(listener === undefined && this.#mode === "over" ? undefined : () => this.#onClientGone());
  }

  onDrain(listener: () => void): void {
    this.#work.onResume(listener);
    this.#to.onDrain(() => this.#work.markDrained());
  }

  start(status: number, statusText: string, headers: readonly string[]): void {
    const start = new AnswerHead(this.#to, this.#exchange, status, statusText, headers);
    this.#answerHead = start;
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
        return this.#detectKind(chunk, false);
      case "unreadable":
        this.#fail(new UnreadableAnswer("its alphabet is not supported"));
        return true;
      case "events":
        return this.#work.run(() => this.#events?.push(chunk));
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
        if (this.#firstBytes.length === 0) {
          this.#pass();
          this.#sendBody(NO_BYTES);
          return;
        }
        this.#detectKind(NO_BYTES, true);
        if (this.#mode !== "head") this.end();
        return;
      case "encoded":
        this.#answerHead?.addWait();
        this.#work.run(() => this.#decode(this.#body?.take() ?? NO_BYTES));
        return;
      case "events":
        this.#endEvents(undefined);
        return;
      case "unreadable":
        this.write(NO_BYTES);
        return;
      default:
        this.#answerHead?.addWait();
        this.#endWhole(this.#body?.take() ?? NO_BYTES);
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
  #detectKind(chunk: Buffer, isAll: boolean): boolean {
    this.#firstBytes = this.#firstBytes.length === 0 ? chunk : Buffer.concat([this.#firstBytes, chunk]);
    const kind = kindOf(this.#type(), this.#firstBytes, isAll);
    if (kind === undefined) return true;
    const head = this.#firstBytes;
    this.#firstBytes = NO_BYTES;
    this.#mode = kind;
    if (kind === "media") {
      this.#options.sinks.metrics.uninspected(mediaOf(this.#type()));
      this.#answerHead?.addWait();
      this.#pass();
    }
    if (kind === "events") this.#openEvents();
    return this.write(head);
  }

  #openEvents(): void {
    this.#answerHead?.addWait();
    const { target, sinks } = this.#options;
    this.#events = new AnswerEvents(this.#answer, target, sinks.metrics, {
      woke: () => this.#flush(),
      failed: (error) => this.#fail(error),
      onSilence: () => this.#stayAlive(),
    });
  }

  #endEvents(cause: Error | undefined): void {
    this.#work.run(
      () => this.#events?.end(),
      () => {
        const error = this.#record?.settle();
        if (error !== undefined) {
          this.#refuse(error);
          return;
        }
        if (cause === undefined) this.#sendHead({ isStream: true });
        if (this.#hasEnded()) return;
        this.#finish();
        cause === undefined ? this.#to.end() : this.#to.breakOff(cause);
      },
    );
  }

  #hold(chunk: Buffer): boolean {
    const { answers } = this.#options.guard;
    const isHeld = this.#mode === "encoded" || (this.isDecoded && answers.onOversize !== "deny");
    const most = isHeld ? MAX_ENCODED_BYTES : answers.maxBodyBytes;
    this.#body ??= new BodyBuffer(this.#exchange.answerMemory, most, true);
    const held = this.#body;
    if (held.bytes + chunk.length <= most) {
      this.#orRefuse(() => held.add(chunk));
    } else if (isHeld) {
      this.#fail(new UnreadableAnswer("it is encoded, and too long"));
    } else {
      const all = held.take();
      if (!this.#handleOversize()) return true;
      if (all.length > 0) this.#to.write(all);
      return this.#to.write(chunk);
    }
    return true;
  }

  /** Handles a body above the inspection limit. Returns false if it is refused. */
  #handleOversize(): boolean {
    const { guard, sinks } = this.#options;
    sinks.metrics.countOversize();
    if (guard.answers.onOversize === "deny") {
      this.#answer.refuseOversize();
      this.#flush();
      return false;
    }
    this.#answerHead?.addWait();
    this.#pass();
    return true;
  }

  async #decode(body: Buffer): Promise<void> {
    const plain = await decodedAnswer(body, this.#answerHead?.encoding ?? "", this.#exchange.answerMemory);
    if (this.#hasEnded()) return;
    this.#answerHead?.setDecodedLength(plain.length);
    this.#mode = "head";
    this.write(plain);
    if (!this.#hasEnded()) this.end(); // `write` has set the mode for which the answer is ended here
  }

  #endWhole(body: Buffer): void {
    if (body.length > this.#options.guard.answers.maxBodyBytes) {
      if (this.#handleOversize()) this.#sendBody(body);
      return;
    }
    const reading = estimateParsingBytes(body);
    if (!this.#orRefuse(() => this.#exchange.answerMemory.hold(reading))) return;
    const { target, sinks } = this.#options;
    this.#work.run(
      () =>
        mapMaybePromise(inspectWhole(body, this.#type(), this.#answer, target, sinks.metrics), (made) => {
          this.#inspectedBody = made;
        }),
      () => this.#sendWhole(reading),
    );
  }

  #sendWhole(reading: number): void {
    this.#exchange.answerMemory.release(reading);
    const error = this.#record?.settle();
    if (error !== undefined) this.#refuse(error);
    const made = this.#inspectedBody;
    if (made === undefined || this.#hasEnded()) return;
    const { body, change } = made;
    this.#sendHead(change);
    this.#sendBody(body);
  }

  #sendBody(body: Buffer): void {
    if (this.#hasEnded()) return;
    this.#finish();
    if (body.length > 0) this.#to.write(body);
    this.#to.end();
  }

  /** Passes the answer unchanged, because there is nothing left to inspect. */
  #pass(): void {
    this.#record?.settle();
    this.#mode = "passing";
    this.#sendHead({});
  }

  /** Sends the events of one read only after all are inspected, because an error status is clearer than an error event. */
  #flushSoon(): void {
    if (this.#events === undefined || this.#isEnded || this.#answerHead?.isSent === true) this.#flush();
    else queueMicrotask(() => this.#flush());
  }

  /** Sends the released bytes, or refuses the answer. */
  #flush(): void {
    if (this.#hasEnded()) return;
    const events = this.#events;
    const frames = events?.take();
    // Nothing has been sent yet, and an error status is clearer than an error event.
    const isLate = this.#answer.isRefused && this.#answerHead?.isSent !== true;
    if (frames !== undefined && !isLate) {
      this.#sendHead({ isStream: true });
      if (this.#hasEnded()) return;
      if (!this.#to.write(frames)) this.#work.markFull();
    }
    if (this.#answer.isRefused) {
      const error = this.#record?.settle();
      this.#refuse(error ?? new GatewayError("guardrail_error", "The answer was refused."));
      return;
    }
    if (events === undefined) return;
    const more = events.heldBytes - this.#heldBytes;
    this.#heldBytes += more;
    this.#orRefuse(() => this.#exchange.answerMemory.change(more));
  }

  #sendHead(change: BodyChange): void {
    if (this.#answerHead === undefined || this.#answerHead.isSent || this.#hasEnded()) return;
    this.#record?.addGuardrailHeaders();
    try {
      this.#answerHead.send(change);
    } catch (error) {
      // Headers that cannot be written make the answer invalid; callers at this stage do not expect an exception.
      this.#fail(error);
    }
  }

  /** Sends the head after a long silence, and a heartbeat if the stream is buffered. */
  #stayAlive(): void {
    this.#sendHead({ isStream: true });
    if (!this.#hasEnded() && this.#events?.isBuffering === true) this.#to.write(HEARTBEAT_COMMENT);
  }

  #refuse(error: GatewayError): void {
    const stamp = this.#events?.stamp;
    this.#finish();
    this.#exchange[this.#isEnded ? "endWithError" : "abortWithError"](error, stamp);
  }

  /** Fails an answer that cannot be read or exceeds the memory budget. */
  #fail(error: unknown): void {
    if (this.#hasEnded()) return;
    this.#record?.settle();
    if (error instanceof GatewayError) this.#refuse(error);
    else {
      this.#finish();
      this.#to.breakOff(error instanceof Error ? error : new Error(String(error)));
    }
    if (!this.#isEnded) this.#abortAttempt?.();
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
    return this.#answerHead?.type ?? typeOf("");
  }

  #hasEnded(): boolean {
    return this.#mode === "over";
  }

  #onClientGone(): void {
    if (!this.#hasEnded()) this.#record?.settle();
    this.#finish();
    this.#abortAttempt?.();
  }

  #finish(): void {
    this.#mode = "over";
    this.#events?.close();
    this.#body?.clear();
    this.#firstBytes = NO_BYTES;
    this.#leaving.abort(ANSWER_ENDED);
    this.#onFinished?.();
  }
}
