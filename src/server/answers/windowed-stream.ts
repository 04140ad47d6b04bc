/**
 * Inspects a streamed answer whose texts are separate channels. Each channel holds back text that may still become part of a
 * finding (`guardrails.stream.policy: window`). Source: guardrails reference, 5.3 and 5.4.
 */
import type { SseEvent, StreamTexts } from "../core/dialects/index.ts";
import {
  createChannel,
  createSlide,
  type MaybePromise,
  mapMaybePromise,
  type Slide,
  type TextChannel,
} from "../core/guardrails/index.ts";
import { inspectNonDataLines, refuseUnreadable, UnreadableAnswer } from "./inspected-event.ts";
import { createSerialQueue, type InspectedStream, type SimilarEvent, type StreamPorts } from "./stream-ports.ts";

/**
 * Delay after which text is scanned even if no further event triggers a scan, in milliseconds. Together with the scan, a byte is
 * held back for less than 20 ms.
 */
const SETTLE_MS = 10;
/** Maximum number of open texts: choices, blocks, string values of arguments. */
const MAX_CHANNELS = 512;

export function openWindowedStream(ports: StreamPorts): InspectedStream {
  return new WindowedStream(ports);
}

interface OpenChannel {
  readonly channel: TextChannel;
  /** Sliding window for detectors without bounded matches; `undefined` if every detector proves text clean before its end. */
  readonly slide: Slide | undefined;
}

const NOTHING_SHOWN = "";

class WindowedStream implements InspectedStream {
  readonly #ports: StreamPorts;
  readonly #open = new Map<string, OpenChannel>();
  #timer: NodeJS.Timeout | undefined;
  readonly #inOrder = createSerialQueue();
  #maxHeldBytes = 0;
  #isClosed = false;

  constructor(ports: StreamPorts) {
    this.#ports = ports;
  }

  get heldBytes(): number {
    let bytes = this.#ports.texts.heldBytes;
    for (const { channel, slide } of this.#open.values()) bytes += 2 * channel.heldBytes + (slide?.heldBytes ?? 0);
    return bytes;
  }

  get isBuffering(): boolean {
    return false;
  }

  push(event: SseEvent): MaybePromise<void> {
    return this.#inOrder(() => this.#inspectEvent(event));
  }

  pushSimilar(bytes: Buffer, at: number): SimilarEvent | undefined {
    const { texts, answer } = this.#ports;
    if (this.#isClosed || answer.isRefused || this.#inOrder.isBusy()) return undefined;
    const event = texts.readSimilar(bytes, at);
    if (event === undefined) return undefined;
    const done = this.#inOrder(() =>
      mapMaybePromise(this.#piece({ channel: event.template.path, text: event.text, isEnd: false }), (shown) => {
        this.#show(texts.rewriteSimilar(event, shown));
        this.#updateHeldBytes();
      }),
    );
    return { end: at + event.bytes.length, done };
  }

  end(): MaybePromise<void> {
    return this.#inOrder(() => {
      clearTimeout(this.#timer);
      this.#timer = undefined;
      const { texts, answer } = this.#ports;
      return mapMaybePromise(this.#closeAll(texts.end(), 0), () =>
        mapMaybePromise(this.#closeAll([...this.#open.keys()], 0), () =>
          // A rule may apply to an answer without findings.
          answer.segments > 0 ? undefined : mapMaybePromise(answer.judgeTexts([]), () => undefined),
        ),
      );
    });
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#ports.metrics.observeHeldBytes(this.#maxHeldBytes);
    this.#open.clear();
  }

  #inspectEvent(event: SseEvent): MaybePromise<void> {
    const { answer, texts, metrics } = this.#ports;
    if (answer.isRefused || this.#isClosed) return undefined;
    return mapMaybePromise(inspectNonDataLines(event, answer), (event) => {
      if (event === undefined) return undefined;
      const read = texts.read(event);
      refuseUnreadable(read);
      for (const what of read.uninspected) metrics.uninspected(what);
      return mapMaybePromise(this.#closeAll(read.closedChannels, 0), () =>
        mapMaybePromise(this.#pieces(read.pieces, 0, []), (shown) => {
          this.#show(texts.rewrite(read, shown));
          this.#updateHeldBytes();
        }),
      );
    });
  }

  #pieces(pieces: readonly Piece[], from: number, shown: string[]): MaybePromise<readonly string[]> {
    for (let at = from; at < pieces.length; at++) {
      const made = this.#piece(pieces[at] as Piece);
      if (made instanceof Promise) {
        return made.then((text) => {
          shown.push(text);
          return this.#pieces(pieces, at + 1, shown);
        });
      }
      shown.push(made);
    }
    return shown;
  }

  #piece({ channel: name, text, isEnd }: Piece): MaybePromise<string> {
    const open = this.#open.get(name) ?? this.#openChannel(name);
    open.slide?.push(text);
    const shown = open.channel.push(text);
    if (!isEnd) return shown;
    return mapMaybePromise(shown, (first) => mapMaybePromise(this.#finish(name, open), (rest) => first + rest));
  }

  #openChannel(name: string): OpenChannel {
    if (this.#open.size >= MAX_CHANNELS) throw new UnreadableAnswer("it has too many texts at once");
    const { answer, metrics } = this.#ports;
    const { answers } = answer.guard;
    const channel = createChannel(answers, {
      reaches: answers.reaches,
      scan: (text) => answer.scanStretch(text, "bounded"),
      judge: (stretch, found) => answer.judgeStretch(stretch, found),
      onUnproven: (detector) => metrics.countUnproven(detector),
      onOversize: () => {
        metrics.countOversize();
        if (answers.onOversize === "deny") answer.refuseOversize();
      },
    });
    const slide = answers.isOpenEnded
      ? createSlide(answers.scanChunkBytes, {
          scan: (text) => this.#watched(answer.scanStretch(text, "open")),
          judge: (text, found) => void answer.judgeStretch(text, found),
        })
      : undefined;
    const open = { channel, slide };
    this.#open.set(name, open);
    return open;
  }

  /** Handles an inspection that no caller waits for. It may refuse the answer, or end with its signal. */
  #watched<Found>(found: MaybePromise<Found | undefined>): MaybePromise<Found | undefined> {
    if (!(found instanceof Promise)) return found;
    const { failed, woke, answer } = this.#ports;
    return found.then(
      (all) => {
        // The verdict of the inspection follows immediately afterwards.
        setImmediate(() => {
          if (answer.isRefused && !this.#isClosed) woke();
        });
        return all;
      },
      (error: unknown) => {
        if (!this.#isClosed) failed(error);
        return undefined;
      },
    );
  }

  #finish(name: string, { channel, slide }: OpenChannel): MaybePromise<string> {
    // Detectors that prove nothing before the end of a text inspect it here.
    return mapMaybePromise(slide?.end(), () =>
      mapMaybePromise(channel.end(), (rest) => {
        this.#open.delete(name);
        return rest;
      }),
    );
  }

  #closeAll(names: readonly string[], from: number): MaybePromise<void> {
    const { texts } = this.#ports;
    for (let at = from; at < names.length; at++) {
      const name = names[at] as string;
      const open = this.#open.get(name);
      const rest = open === undefined ? NOTHING_SHOWN : this.#finish(name, open);
      if (rest instanceof Promise) {
        return rest.then((text) => {
          this.#show(texts.flush(name, text, true));
          return this.#closeAll(names, at + 1);
        });
      }
      this.#show(texts.flush(name, rest, true));
    }
    return undefined;
  }

  #show(frame: Buffer | undefined): void {
    const { answer, show } = this.#ports;
    if (frame !== undefined && frame.length > 0 && !answer.isRefused && !this.#isClosed) show(frame);
  }

  #updateHeldBytes(): void {
    let held = 0;
    let isWaiting = false;
    for (const { channel } of this.#open.values()) {
      held += channel.heldBytes;
      isWaiting ||= channel.isWaiting;
    }
    this.#maxHeldBytes = Math.max(this.#maxHeldBytes, held);
    if (isWaiting && this.#timer === undefined && !this.#isClosed) {
      this.#timer = setTimeout(() => this.#settle(), SETTLE_MS);
    }
  }

  #settle(): void {
    this.#timer = undefined;
    const { failed, woke } = this.#ports;
    try {
      const done = this.#inOrder(() => this.#settleAll([...this.#open], 0));
      if (done instanceof Promise) done.then(woke, failed);
      else woke();
    } catch (error) {
      failed(error);
    }
  }

  #settleAll(open: readonly (readonly [string, OpenChannel])[], from: number): MaybePromise<void> {
    const { texts } = this.#ports;
    for (let at = from; at < open.length; at++) {
      const [name, { channel }] = open[at] as readonly [string, OpenChannel];
      if (!channel.isWaiting || this.#open.get(name)?.channel !== channel) continue;
      const shown = channel.scanWaiting();
      if (shown instanceof Promise) {
        return shown.then((text) => {
          if (text !== "") this.#show(texts.flush(name, text, false));
          return this.#settleAll(open, at + 1);
        });
      }
      if (shown !== "") this.#show(texts.flush(name, shown, false));
    }
    return undefined;
  }
}

type Piece = Parameters<StreamTexts["rewrite"]>[0]["pieces"][number];
