/** Inspects an answer that is a stream of events: takes its bytes and returns those that may be shown. */
import {
  type Dialect,
  openStreamTexts,
  SseSplitter,
  type StreamStamp,
  type StreamTexts,
} from "../core/dialects/index.ts";
import type { GuardrailMetrics, JudgedAnswer } from "../core/guardrails/index.ts";
import { type MaybePromise, mapMaybePromise } from "../core/guardrails/index.ts";
import { inspectStream } from "./inspected-stream.ts";
import { inspectMessages, type ReadMessage } from "./message-stream.ts";
import type { InspectedStream, StreamPorts } from "./stream-ports.ts";

/** Interval of keep-alives to a client that was sent nothing else, in milliseconds. */
const KEEP_ALIVE_MS = 10_000;

const BLANK_LINE = Buffer.from("\n\n");

type EventPorts = Pick<StreamPorts, "woke" | "failed"> & {
  /** Called when nothing has been sent to the client for a long time. */
  readonly onSilence: () => void;
};

/** Properties of an answer that decide how it is read. */
export interface AnswerContext {
  readonly route: { readonly name: string };
  readonly dialect: Dialect;
  /** Reader for an answer that consists of messages of another protocol; `undefined` for the answer of a model. */
  readonly read?: ReadMessage | undefined;
}

export class AnswerEvents {
  readonly #splitter = new SseSplitter();
  /** Texts of the stream; `undefined` if the events are messages. */
  readonly #texts: StreamTexts | undefined;
  readonly #stream: InspectedStream;
  #frames: Buffer[] = [];
  readonly #silence: NodeJS.Timeout;

  constructor(
    answer: JudgedAnswer,
    { dialect, route, read }: AnswerContext,
    metrics: GuardrailMetrics,
    { onSilence, ...ports }: EventPorts,
  ) {
    const show = (frame: Buffer): void => void this.#frames.push(frame);
    if (read !== undefined) {
      this.#stream = inspectMessages({ answer, metrics, show, read });
    } else {
      this.#texts = openStreamTexts(dialect, route.name);
      this.#stream = inspectStream({ answer, texts: this.#texts, metrics, show, ...ports });
    }
    this.#silence = setTimeout(() => {
      this.#silence.refresh();
      onSilence();
    }, KEEP_ALIVE_MS);
  }

  /** Stamp of the chunks so far, which the event that ends them repeats. */
  get stamp(): StreamStamp | undefined {
    return this.#texts?.stamp;
  }

  get isBuffering(): boolean {
    return this.#stream.isBuffering;
  }

  /** Estimated memory in bytes. */
  get heldBytes(): number {
    return this.#splitter.heldBytes + this.#stream.heldBytes;
  }

  /** Inspects the events of a chunk. The stream keeps their order, so the last one is done after all others. */
  push(chunk: Buffer): MaybePromise<void> {
    let last: Promise<void> | undefined;
    const note = (done: MaybePromise<void>): void => {
      if (done instanceof Promise) last = done;
    };
    const stream = this.#stream;
    this.#splitter.visitEvents(
      chunk,
      (event) => note(stream.push(event)),
      (bytes, at) => {
        const similar = stream.pushSimilar?.(bytes, at);
        if (similar === undefined) return at;
        note(similar.done);
        return similar.end;
      },
    );
    return last;
  }

  /**
   * Ends the stream. Some providers omit the blank line after their last event. An event that broke off is left out, as readers
   * of event streams do: it would be shown before the texts that are held back, and clients could not parse it.
   */
  end(): MaybePromise<void> {
    if (this.#splitter.isCutWithinJson) this.#splitter.takeRest();
    const rest = this.#splitter.isEmpty ? undefined : this.push(BLANK_LINE);
    return mapMaybePromise(rest, () => this.#stream.end());
  }

  /** Returns the bytes that may be shown since the last call, or `undefined` if there are none. */
  take(): Buffer | undefined {
    const frames = this.#frames;
    if (frames.length === 0) return undefined;
    this.#frames = [];
    this.#silence.refresh();
    return frames.length === 1 ? frames[0] : Buffer.concat(frames);
  }

  close(): void {
    clearTimeout(this.#silence);
    this.#stream.close();
    this.#frames = [];
  }
}
