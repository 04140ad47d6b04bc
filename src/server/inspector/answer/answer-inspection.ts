/**
 * Inspects a response with guardrails in the same way as the data plane reads model answers: as a whole body or as a stream of
 * events, depending on its content type. Text of a stream is held back as long as it may still become part of a finding. Source:
 * design decisions, section 11; guardrails reference, 5.3.
 */
import { GatewayError } from "../../../base/index.ts";
import {
  AnswerEvents,
  type Answered,
  type BodyKind,
  judgedWhole,
  kindOf,
  type Mending,
  mediaOf,
  SIGN_OF_LIFE,
  UnreadableAnswer,
} from "../../answers/index.ts";
import type { StreamStamp } from "../../core/dialects/index.ts";
import { actedIn, type GuardrailMetrics, type JudgedAnswer } from "../../core/guardrails/index.ts";
import { HeldBody, type ResponseNews } from "../exchange/index.ts";
import type { LateRefusal } from "../refusal-shape.ts";
import { type AnswerHead, AS_IT_CAME } from "./response-head.ts";

/** Maximum size of a compressed answer, in bytes. */
const MAX_ENCODED_BYTES = 32 << 20;
/** Number of bytes that may wait for a detector before the stream is paused. */
const BUSY_BYTES = 1 << 20;

const EMPTY = Buffer.alloc(0);
const OVER = new GatewayError("invalid_request", "The response has ended.");

export interface AnswerInspection {
  readonly push: (chunk: Buffer) => void;
  readonly end: () => void;
  /** Stops the inspection because the peer is gone. */
  readonly close: () => void;
  /** Whether more bytes wait for detectors than `BUSY_BYTES`. */
  readonly isBusy: () => boolean;
}

export interface AnswerTerms {
  readonly head: AnswerHead;
  readonly answered: Answered;
  /** Inspected answer. `leaving` aborts it when the peer is gone. */
  readonly answer: JudgedAnswer;
  readonly leaving: AbortController;
  readonly metrics: GuardrailMetrics;
  /** Records the decision once. Returns the error that refuses the answer, if any. `isLeft`: the peer left before the end. */
  readonly settle: (isLeft: boolean) => GatewayError | undefined;
  /** Builds the refusal that replaces a body or ends a stream. */
  readonly late: (error: GatewayError, stream: { readonly stamp: StreamStamp | undefined } | undefined) => LateRefusal;
  /** Decodes a compressed body. Throws `UnreadableAnswer`, or `overloaded`. */
  readonly decode: (body: Buffer) => Promise<Buffer>;
  readonly hold: (bytes: number) => boolean;
}

export interface BegunAnswer {
  readonly head: AnswerHead;
  readonly read: (ports: AnswerPorts, hold: AnswerTerms["hold"]) => AnswerInspection;
}

interface AnswerPorts {
  readonly report: (news: ResponseNews) => void;
  /** Called when the inspection was busy and has caught up. */
  readonly idle: () => void;
}

/** Processing mode. `head`: the first bytes have not arrived, so the kind of the body is unknown. */
type Mode = "head" | "encoded" | BodyKind | "passing" | "over";

export function inspectAnswer(terms: AnswerTerms, ports: AnswerPorts): AnswerInspection {
  return new Inspected(terms, ports);
}

class Inspected implements AnswerInspection {
  readonly #terms: AnswerTerms;
  readonly #ports: AnswerPorts;
  #mode: Mode;
  #head: Buffer = EMPTY;
  #mending: Mending = {};
  readonly #held = new HeldBody();
  #events: AnswerEvents | undefined;
  /** Bytes reserved from the shared memory budget. */
  #room = 0;
  #eventRoom = 0;
  #waitingBytes = 0;
  #isSettled = false;
  #hasShown = false;

  constructor(terms: AnswerTerms, ports: AnswerPorts) {
    this.#terms = terms;
    this.#ports = ports;
    this.#mode = terms.head.isEncoded ? "encoded" : "head";
  }

  readonly isBusy = (): boolean => this.#waitingBytes > BUSY_BYTES;

  readonly push = (chunk: Buffer): void => {
    if (chunk.length === 0) return;
    switch (this.#mode) {
      case "over":
        return;
      case "passing":
      case "media":
        this.#show(chunk, this.#mending);
        return;
      case "head":
        this.#look(chunk, false);
        return;
      case "events":
        this.#drive(chunk.length, () => this.#events?.push(chunk));
        return;
      case "unreadable":
        this.#fail(new UnreadableAnswer("its alphabet is not supported"));
        return;
      default:
        this.#keep(chunk);
    }
  };

  readonly end = (): void => {
    if (this.#mode === "head" && this.#head.length > 0) this.#look(EMPTY, true);
    switch (this.#mode) {
      case "over":
        return;
      case "events":
        this.#drive(
          0,
          () => this.#events?.end(),
          () => this.#ended(EMPTY, { ...this.#mending, isStream: true }),
        );
        return;
      case "encoded":
        this.#decode(this.#held.take());
        return;
      case "text":
        this.#judge(this.#held.take());
        return;
      case "unreadable":
        this.#fail(new UnreadableAnswer("its alphabet is not supported"));
        return;
      default:
        this.#ended(EMPTY, this.#mending);
    }
  };

  readonly close = (): void => {
    if (this.#mode === "over") return;
    this.#settle(true);
    this.#finish();
  };

  #look(chunk: Buffer, isAll: boolean): void {
    const head = this.#head.length === 0 ? chunk : Buffer.concat([this.#head, chunk]);
    const kind = kindOf(this.#terms.head.type, head, isAll);
    this.#head = kind === undefined ? head : EMPTY;
    if (kind === undefined) return;
    this.#mode = kind;
    if (kind === "media") this.#terms.metrics.uninspected(mediaOf(this.#terms.head.type));
    if (kind === "events") this.#open();
    this.push(head);
  }

  #open(): void {
    const { answer, answered, metrics } = this.#terms;
    this.#events = new AnswerEvents(answer, answered, metrics, {
      woke: () => this.#out(),
      failed: (error) => this.#fail(error),
      silent: () => {
        if (this.#events?.isBuffering === true) this.#show(SIGN_OF_LIFE, { ...this.#mending, isStream: true });
      },
    });
  }

  #keep(chunk: Buffer): void {
    const { answer, metrics } = this.#terms;
    const isEncoded = this.#mode === "encoded";
    const most = isEncoded ? MAX_ENCODED_BYTES : answer.guard.answers.maxBodyBytes;
    if (this.#held.bytes + chunk.length <= most) {
      if (this.#take(this.#held.room(chunk))) this.#held.add(chunk);
      return;
    }
    if (isEncoded) {
      this.#fail(new UnreadableAnswer("it is encoded, and too long"));
      return;
    }
    metrics.oversize();
    if (answer.guard.answers.onOversize === "deny") {
      answer.refuseOversize();
      this.#refuse();
      return;
    }
    this.#mode = "passing";
    const all = this.#held.take();
    this.#show(all, this.#mending);
    this.#show(chunk, this.#mending);
  }

  #decode(body: Buffer): void {
    const { decode } = this.#terms;
    if (body.length === 0) {
      this.#ended(body, {});
      return;
    }
    this.#drive(
      0,
      () =>
        decode(body).then((plain) => {
          if (this.#mode === "over" || !this.#take(plain.length)) return;
          this.#mending = { isDecoded: true, length: plain.length };
          this.#mode = "head";
          this.push(plain);
        }),
      () => this.end(),
    );
  }

  #judge(body: Buffer): void {
    const { head, answer, answered, metrics } = this.#terms;
    // The memory is twice the size: the body's text, and the rewritten copy.
    if (!this.#take(2 * body.length)) return;
    let mending = this.#mending;
    let made = body;
    this.#drive(
      0,
      () => {
        const judged = judgedWhole(body, head.type, answer, answered, metrics);
        const noted = (one: Awaited<typeof judged>): void => {
          if (one === undefined) return;
          made = one.body;
          mending = { ...mending, ...one.mending };
        };
        return judged instanceof Promise ? judged.then(noted) : noted(judged);
      },
      () => this.#ended(made, mending),
    );
  }

  /** Accounts for `bytes` more, runs `work`, and then sends the bytes that may be shown. */
  #drive(bytes: number, work: () => void | Promise<void>, next?: () => void): void {
    const then = (): void => {
      this.#out();
      if (next !== undefined && this.#mode !== "over") next();
    };
    try {
      const done = work();
      if (!(done instanceof Promise)) {
        then();
        return;
      }
      if (!this.#take(bytes)) return;
      this.#waitingBytes += bytes;
      const given = (): void => {
        const wasBusy = this.isBusy();
        this.#waitingBytes -= bytes;
        this.#give(bytes);
        if (wasBusy && !this.isBusy()) this.#ports.idle();
      };
      done
        .then(then)
        .catch((error: unknown) => this.#fail(error))
        .then(given);
    } catch (error) {
      this.#fail(error);
    }
  }

  #out(): void {
    if (this.#mode === "over") return;
    const events = this.#events;
    if (this.#terms.answer.isRefused) {
      this.#refuse();
      return;
    }
    if (events === undefined) return;
    const frames = events.take();
    if (frames !== undefined) this.#show(frames, { ...this.#mending, isStream: true });
    const more = events.heldBytes - this.#eventRoom;
    this.#eventRoom += more;
    this.#take(more);
  }

  #show(bytes: Buffer, mending: Mending): void {
    this.#hasShown = true;
    this.#ports.report({ kind: "shown", bytes, head: this.#terms.head.mended(mending, this.#acted()) });
  }

  #ended(bytes: Buffer, mending: Mending): void {
    const acted = this.#acted();
    const error = this.#settle();
    if (error !== undefined) {
      this.#tellRefused(error);
      return;
    }
    this.#finish();
    this.#ports.report({ kind: "ended", bytes, head: this.#terms.head.mended(mending, acted) });
  }

  #refuse(): void {
    const error = this.#settle();
    this.#tellRefused(error ?? new GatewayError("guardrail_error", "The answer was refused."));
  }

  /** Ends the inspection because the body could not be read or exceeded the memory budget. */
  #fail(error: unknown): void {
    if (this.#mode === "over") return;
    this.#settle();
    this.#tellRefused(error instanceof GatewayError ? error : unreadable(error));
  }

  #tellRefused(error: GatewayError): void {
    const events = this.#events;
    const late = this.#terms.late(error, events && { stamp: events.stamp });
    // Text that was proven clean before the refusal is still sent to the client, unless the status can report the refusal
    // instead.
    const shown = this.#hasShown ? events?.take() : undefined;
    this.#finish();
    if (shown !== undefined) this.#ports.report({ kind: "shown", bytes: shown, head: AS_IT_CAME });
    this.#ports.report({ kind: "refused", error, ...late });
  }

  #settle(isLeft = false): GatewayError | undefined {
    if (this.#isSettled) return undefined;
    this.#isSettled = true;
    return this.#terms.settle(isLeft);
  }

  #acted(): string {
    return actedIn(this.#terms.answer.judged.guarded.judgement?.decisions ?? []);
  }

  /** Reserves memory. Returns false if there was none, in which case the answer is refused. */
  #take(bytes: number): boolean {
    if (this.#mode === "over") return false;
    if (this.#terms.hold(bytes)) {
      this.#room += bytes;
      return true;
    }
    this.#fail(new GatewayError("overloaded", "The inspector buffers too many bytes of other requests."));
    return false;
  }

  #give(bytes: number): void {
    if (this.#mode === "over") return;
    this.#room -= bytes;
    this.#terms.hold(-bytes);
  }

  #finish(): void {
    this.#mode = "over";
    this.#events?.close();
    this.#held.take();
    this.#head = EMPTY;
    this.#terms.hold(-this.#room);
    this.#room = 0;
    this.#terms.leaving.abort(OVER);
  }
}

function unreadable(cause: unknown): GatewayError {
  const why = cause instanceof UnreadableAnswer ? cause.message : "guardrails cannot inspect the answer";
  return new GatewayError("upstream_invalid", `The response was not passed on: ${why}.`, { cause });
}
