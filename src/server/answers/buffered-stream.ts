/**
 * Inspects a streamed answer that is held back until its end (`guardrails.stream.policy: buffer`), inspected whole, and shown in
 * its original frames. Source: guardrails reference, 5.3; specification document 3, `stream`, `response`.
 */
import type { EventTexts, SseEvent } from "../core/dialects/index.ts";
import type { RewrittenText } from "../core/guardrails/index.ts";
import { type MaybePromise, mapMaybePromise } from "../core/guardrails/index.ts";
import { inspectNonDataLines, refuseUnreadable } from "./inspected-event.ts";
import { createSerialQueue, type InspectedStream, type StreamPorts } from "./stream-ports.ts";

/** Maximum size of the buffered events, in bytes. A token of four bytes arrives in about a hundred bytes. */
const MAX_FRAME_BYTES = 32 << 20;
/** Memory that an event takes in addition to its bytes. */
const EVENT_COST = 512;

export function openBufferedStream(ports: StreamPorts): InspectedStream {
  return new BufferedStream(ports);
}

interface HeldEvent {
  readonly read: EventTexts;
  /** Offsets at which the event's pieces begin in the texts of their channels. */
  readonly starts: readonly number[];
}

class BufferedStream implements InspectedStream {
  readonly #ports: StreamPorts;
  #held: HeldEvent[] = [];
  /** Texts by channel. A channel that ended and began again is a separate text. */
  #texts = new Map<string, string>();
  #textBytes = 0;
  #frameBytes = 0;
  readonly #inOrder = createSerialQueue();
  /** Whether the answer is too long to be buffered and passes as it arrives. */
  #passes = false;
  #isClosed = false;

  constructor(ports: StreamPorts) {
    this.#ports = ports;
  }

  get heldBytes(): number {
    return this.#frameBytes + 2 * this.#textBytes + this.#ports.texts.heldBytes;
  }

  get isBuffering(): boolean {
    return !this.#passes;
  }

  push(event: SseEvent): MaybePromise<void> {
    return this.#inOrder(() => this.#inspectEvent(event));
  }

  end(): MaybePromise<void> {
    return this.#inOrder(() => {
      if (this.#passes || this.#ports.answer.isRefused) return undefined;
      const names = [...this.#texts.keys()];
      return mapMaybePromise(this.#ports.answer.judgeTexts([...this.#texts.values()]), (rewrites) => {
        if (rewrites === undefined) return;
        const byChannel = new Map(names.map((name, at) => [name, rewrites[at]]));
        for (const held of this.#held) this.#release(held, byChannel);
        for (const name of this.#ports.texts.end()) this.#show(this.#ports.texts.flush(name, "", true));
        this.#dropBuffer();
      });
    });
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#dropBuffer();
  }

  #inspectEvent(event: SseEvent): MaybePromise<void> {
    const { answer, texts, metrics } = this.#ports;
    if (answer.isRefused || this.#isClosed) return undefined;
    if (this.#passes) {
      this.#show(event.bytes);
      return undefined;
    }
    return mapMaybePromise(inspectNonDataLines(event, answer), (event) => {
      if (event === undefined) return;
      const read = texts.read(event);
      refuseUnreadable(read);
      for (const what of read.uninspected) metrics.uninspected(what);
      const starts = read.pieces.map(({ channel, text }) => {
        const before = this.#texts.get(channel) ?? "";
        this.#texts.set(channel, before + text);
        this.#textBytes += Buffer.byteLength(text);
        return before.length;
      });
      this.#held.push({ read, starts });
      this.#frameBytes += event.bytes.length + EVENT_COST;
      const { maxBodyBytes } = answer.guard.answers;
      if (this.#textBytes > maxBodyBytes || this.#frameBytes > MAX_FRAME_BYTES) this.#oversize();
    });
  }

  #oversize(): void {
    const { answer, metrics } = this.#ports;
    metrics.countOversize();
    if (answer.guard.answers.onOversize === "deny") answer.refuseOversize();
    for (const { read } of this.#held) this.#show(read.event.bytes);
    this.#passes = true;
    this.#dropBuffer();
  }

  #release({ read, starts }: HeldEvent, byChannel: ReadonlyMap<string, RewrittenText>): void {
    const { texts } = this.#ports;
    for (const name of read.closedChannels) this.#show(texts.flush(name, "", true));
    const shown = read.pieces.map(({ channel, text }, at) =>
      applyEdits(text, starts[at] ?? 0, byChannel.get(channel)?.edits ?? []),
    );
    this.#show(texts.rewrite(read, shown));
  }

  #show(frame: Buffer | undefined): void {
    const { answer, show } = this.#ports;
    if (frame !== undefined && frame.length > 0 && !answer.isRefused && !this.#isClosed) show(frame);
  }

  #dropBuffer(): void {
    this.#ports.metrics.observeHeldBytes(this.#textBytes);
    this.#held = [];
    this.#texts = new Map();
    this.#textBytes = 0;
    this.#frameBytes = 0;
  }
}

type Edits = NonNullable<RewrittenText>["edits"];

/**
 * Returns a piece with the edits applied. `start`: offset of the piece in its text. An edit is inserted where its span begins.
 */
function applyEdits(piece: string, start: number, edits: Edits): string {
  let made = "";
  let at = 0;
  for (const edit of edits) {
    const from = edit.start - start;
    const to = edit.end - start;
    if (to <= 0 || from >= piece.length) continue;
    made += piece.slice(at, Math.max(at, from));
    if (from >= 0) made += edit.text;
    at = Math.max(at, Math.min(to, piece.length));
  }
  return made + piece.slice(at);
}
