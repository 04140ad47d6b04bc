/**
 * Inspects a response with guardrails in the same way as the data plane reads model answers: as a whole body or as a stream of
 * events, depending on its content type. Text of a stream is held back as long as it may still become part of a finding. Source:
 * design decisions, section 11; guardrails reference, 5.3.
 */
import { GatewayError } from "../../../base/index.ts";
import {
  type AnswerContext,
  AnswerEvents,
  type BodyChange,
  type BodyKind,
  HEARTBEAT_COMMENT,
  inspectWhole,
  kindOf,
  mediaOf,
  UnreadableAnswer,
} from "../../answers/index.ts";
import type { StreamStamp } from "../../core/dialects/index.ts";
import { formatDecisions, type GuardrailMetrics, type JudgedAnswer } from "../../core/guardrails/index.ts";
import { HeldBody, type ResponseNews } from "../exchange/index.ts";
import type { LateRefusal } from "../refusal-shape.ts";
import { type AnswerHead, UNCHANGED_HEAD } from "./response-head.ts";

/** Maximum size of a compressed answer, in bytes. */
const MAX_ENCODED_BYTES = 32 << 20;
/** Number of bytes that may wait for a detector before the stream is paused. */
const BUSY_BYTES = 1 << 20;

const EMPTY = Buffer.alloc(0);
const RESPONSE_ENDED = new GatewayError("invalid_request", "The response has ended.");

export interface AnswerInspection {
  readonly push: (chunk: Buffer) => void;
  readonly end: () => void;
  /** Stops the inspection because the peer is gone. */
  readonly close: () => void;
  /** Whether more bytes wait for detectors than `BUSY_BYTES`. */
  readonly isBusy: () => boolean;
}

export interface AnswerInspectionOptions {
  readonly head: AnswerHead;
  readonly answered: AnswerContext;
  /** Inspected answer. `leaving` aborts it when the peer is gone. */
  readonly answer: JudgedAnswer;
  readonly leaving: AbortController;
  readonly metrics: GuardrailMetrics;
  /** Records the decision once. Returns the error that refuses the answer, if any. `hasPeerLeft`: the peer left before the end. */
  readonly settle: (hasPeerLeft: boolean) => GatewayError | undefined;
  /** Builds the refusal that replaces a body or ends a stream. */
  readonly refusalInstead: (
    error: GatewayError,
    stream: { readonly stamp: StreamStamp | undefined } | undefined,
  ) => LateRefusal;
  /** Decodes a compressed body. Throws `UnreadableAnswer`, or `overloaded`. */
  readonly decode: (body: Buffer) => Promise<Buffer>;
  readonly reserve: (bytes: number) => boolean;
}

export interface ResponseInspection {
  readonly head: AnswerHead;
  readonly read: (ports: AnswerPorts, reserve: AnswerInspectionOptions["reserve"]) => AnswerInspection;
}

interface AnswerPorts {
  readonly report: (news: ResponseNews) => void;
  /** Called when the inspection was busy and has caught up. */
  readonly onCaughtUp: () => void;
}

/** Processing mode. `head`: the first bytes have not arrived, so the kind of the body is unknown. */
type Mode = "head" | "encoded" | BodyKind | "passing" | "over";

export function inspectAnswer(terms: AnswerInspectionOptions, ports: AnswerPorts): AnswerInspection {
  return new AnswerInspector(terms, ports);
}

class AnswerInspector implements AnswerInspection {
  readonly #options: AnswerInspectionOptions;
  readonly #ports: AnswerPorts;
  #mode: Mode;
  #head: Buffer = EMPTY;
  #mending: BodyChange = {};
  readonly #held = new HeldBody();
  #events: AnswerEvents | undefined;
  /** Bytes reserved from the shared memory budget. */
  #reservedBytes = 0;
  #reservedEventBytes = 0;
  #waitingBytes = 0;
  #isSettled = false;
  #hasShown = false;

  constructor(terms: AnswerInspectionOptions, ports: AnswerPorts) {
    this.#options = terms;
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
        this.#detectKind(chunk, false);
        return;
      case "events":
        this.#runThenSend(chunk.length, () => this.#events?.push(chunk));
        return;
      case "unreadable":
        this.#fail(new UnreadableAnswer("its alphabet is not supported"));
        return;
      default:
        this.#holdBack(chunk);
    }
  };

  readonly end = (): void => {
    if (this.#mode === "head" && this.#head.length > 0) this.#detectKind(EMPTY, true);
    switch (this.#mode) {
      case "over":
        return;
      case "events":
        this.#runThenSend(
          0,
          () => this.#events?.end(),
          () => this.#reportEnd(EMPTY, { ...this.#mending, isStream: true }),
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
        this.#reportEnd(EMPTY, this.#mending);
    }
  };

  readonly close = (): void => {
    if (this.#mode === "over") return;
    this.#settle(true);
    this.#finish();
  };

  #detectKind(chunk: Buffer, isAll: boolean): void {
    const head = this.#head.length === 0 ? chunk : Buffer.concat([this.#head, chunk]);
    const kind = kindOf(this.#options.head.type, head, isAll);
    this.#head = kind === undefined ? head : EMPTY;
    if (kind === undefined) return;
    this.#mode = kind;
    if (kind === "media") this.#options.metrics.uninspected(mediaOf(this.#options.head.type));
    if (kind === "events") this.#openEvents();
    this.push(head);
  }

  #openEvents(): void {
    const { answer, answered, metrics } = this.#options;
    this.#events = new AnswerEvents(answer, answered, metrics, {
      woke: () => this.#sendShown(),
      failed: (error) => this.#fail(error),
      onSilence: () => {
        if (this.#events?.isBuffering === true) this.#show(HEARTBEAT_COMMENT, { ...this.#mending, isStream: true });
      },
    });
  }

  #holdBack(chunk: Buffer): void {
    const { answer, metrics } = this.#options;
    const isEncoded = this.#mode === "encoded";
    const maxBytes = isEncoded ? MAX_ENCODED_BYTES : answer.guard.answers.maxBodyBytes;
    if (this.#held.bytes + chunk.length <= maxBytes) {
      if (this.#reserve(this.#held.bytesToReserve(chunk))) this.#held.add(chunk);
      return;
    }
    if (isEncoded) {
      this.#fail(new UnreadableAnswer("it is encoded, and too long"));
      return;
    }
    metrics.countOversize();
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
    const { decode } = this.#options;
    if (body.length === 0) {
      this.#reportEnd(body, {});
      return;
    }
    this.#runThenSend(
      0,
      () =>
        decode(body).then((plain) => {
          if (this.#mode === "over" || !this.#reserve(plain.length)) return;
          this.#mending = { isDecoded: true, length: plain.length };
          this.#mode = "head";
          this.push(plain);
        }),
      () => this.end(),
    );
  }

  #judge(body: Buffer): void {
    const { head, answer, answered, metrics } = this.#options;
    // The memory is twice the size: the body's text, and the rewritten copy.
    if (!this.#reserve(2 * body.length)) return;
    let mending = this.#mending;
    let made = body;
    this.#runThenSend(
      0,
      () => {
        const judged = inspectWhole(body, head.type, answer, answered, metrics);
        const applyJudged = (one: Awaited<typeof judged>): void => {
          if (one === undefined) return;
          made = one.body;
          mending = { ...mending, ...one.change };
        };
        return judged instanceof Promise ? judged.then(applyJudged) : applyJudged(judged);
      },
      () => this.#reportEnd(made, mending),
    );
  }

  /** Accounts for `bytes` more, runs `work`, and then sends the bytes that may be shown. */
  #runThenSend(bytes: number, work: () => void | Promise<void>, next?: () => void): void {
    const then = (): void => {
      this.#sendShown();
      if (next !== undefined && this.#mode !== "over") next();
    };
    try {
      const done = work();
      if (!(done instanceof Promise)) {
        then();
        return;
      }
      if (!this.#reserve(bytes)) return;
      this.#waitingBytes += bytes;
      const releaseBytes = (): void => {
        const wasBusy = this.isBusy();
        this.#waitingBytes -= bytes;
        this.#release(bytes);
        if (wasBusy && !this.isBusy()) this.#ports.onCaughtUp();
      };
      done
        .then(then)
        .catch((error: unknown) => this.#fail(error))
        .then(releaseBytes);
    } catch (error) {
      this.#fail(error);
    }
  }

  #sendShown(): void {
    if (this.#mode === "over") return;
    const events = this.#events;
    if (this.#options.answer.isRefused) {
      this.#refuse();
      return;
    }
    if (events === undefined) return;
    const frames = events.take();
    if (frames !== undefined) this.#show(frames, { ...this.#mending, isStream: true });
    const more = events.heldBytes - this.#reservedEventBytes;
    this.#reservedEventBytes += more;
    this.#reserve(more);
  }

  #show(bytes: Buffer, mending: BodyChange): void {
    this.#hasShown = true;
    this.#ports.report({ kind: "shown", bytes, head: this.#options.head.changesAfter(mending, this.#actedRules()) });
  }

  #reportEnd(bytes: Buffer, mending: BodyChange): void {
    const acted = this.#actedRules();
    const error = this.#settle();
    if (error !== undefined) {
      this.#reportRefusal(error);
      return;
    }
    this.#finish();
    this.#ports.report({ kind: "ended", bytes, head: this.#options.head.changesAfter(mending, acted) });
  }

  #refuse(): void {
    const error = this.#settle();
    this.#reportRefusal(error ?? new GatewayError("guardrail_error", "The answer was refused."));
  }

  /** Ends the inspection because the body could not be read or exceeded the memory budget. */
  #fail(error: unknown): void {
    if (this.#mode === "over") return;
    this.#settle();
    this.#reportRefusal(error instanceof GatewayError ? error : unreadable(error));
  }

  #reportRefusal(error: GatewayError): void {
    const events = this.#events;
    const late = this.#options.refusalInstead(error, events && { stamp: events.stamp });
    // Text that was proven clean before the refusal is still sent to the client, unless the status can report the refusal
    // instead.
    const shown = this.#hasShown ? events?.take() : undefined;
    this.#finish();
    if (shown !== undefined) this.#ports.report({ kind: "shown", bytes: shown, head: UNCHANGED_HEAD });
    this.#ports.report({ kind: "refused", error, ...late });
  }

  #settle(hasPeerLeft = false): GatewayError | undefined {
    if (this.#isSettled) return undefined;
    this.#isSettled = true;
    return this.#options.settle(hasPeerLeft);
  }

  #actedRules(): string {
    return formatDecisions(this.#options.answer.judged.guarded.judgement?.decisions ?? []);
  }

  /** Reserves memory. Returns false if there was none, in which case the answer is refused. */
  #reserve(bytes: number): boolean {
    if (this.#mode === "over") return false;
    if (this.#options.reserve(bytes)) {
      this.#reservedBytes += bytes;
      return true;
    }
    this.#fail(new GatewayError("overloaded", "The inspector buffers too many bytes of other requests."));
    return false;
  }

  #release(bytes: number): void {
    if (this.#mode === "over") return;
    this.#reservedBytes -= bytes;
    this.#options.reserve(-bytes);
  }

  #finish(): void {
    this.#mode = "over";
    this.#events?.close();
    this.#held.take();
    this.#head = EMPTY;
    this.#options.reserve(-this.#reservedBytes);
    this.#reservedBytes = 0;
    this.#options.leaving.abort(RESPONSE_ENDED);
  }
}

function unreadable(cause: unknown): GatewayError {
  const message = cause instanceof UnreadableAnswer ? cause.message : "guardrails cannot inspect the answer";
  return new GatewayError("upstream_invalid", `The response was not passed on: ${message}.`, { cause });
}
