/**
 * Keeps a stream that the gateway writes itself alive: load balancers end connections that are silent for a minute, and
 * models think for longer. Source: design decisions, section 20; WHATWG HTML, section 9.2.7.
 */
import { performance } from "node:perf_hooks";
import { type Downstream, headerValue, Passing } from "../../upstream/index.ts";

/** Milliseconds without a byte. */
export const HEARTBEAT_MS = 15_000;

/** A comment, which clients of events pass over. */
const COMMENT = Buffer.from(": keep-alive\n\n");

const LF = 0x0a;
const CR = 0x0d;

/** `ms`: 0 for none. `to` must be written by the gateway alone: bytes of a provider are never added to. */
export function withHeartbeat(to: Downstream, ms: number): Downstream {
  return ms === 0 ? to : new Heartbeat(to, ms);
}

class Heartbeat extends Passing {
  readonly #ms: number;
  #timer: NodeJS.Timeout | undefined;
  #writtenAt = 0;
  /** What was written ends with an event, so that a comment stands between two. */
  #isBetween = true;
  /** The last byte and the one before it. */
  #last = 0;
  #lastButOne = 0;
  #lastButTwo = 0;
  /** The client takes no more for now. */
  #isFull = false;

  constructor(to: Downstream, ms: number) {
    super(to);
    this.#ms = ms;
  }

  override start(status: number, statusText: string, headers: readonly string[]): void {
    super.start(status, statusText, headers);
    const type = headerValue(headers, "content-type")?.toLowerCase();
    if (status < 300 && type?.startsWith("text/event-stream") === true) {
      this.#writtenAt = performance.now();
      this.#timer = setTimeout(() => this.#beat(), this.#ms);
    }
  }

  override write(chunk: Buffer): boolean {
    if (this.#timer === undefined) return super.write(chunk);
    this.#writtenAt = performance.now();
    this.#note(chunk);
    const hasRoom = super.write(chunk);
    this.#isFull = !hasRoom;
    return hasRoom;
  }

  override onDrain(listener: () => void): void {
    super.onDrain(() => {
      this.#isFull = false;
      listener();
    });
  }

  override onGone(listener: (() => void) | undefined): void {
    super.onGone(
      listener === undefined
        ? undefined
        : () => {
            this.#stop();
            listener();
          },
    );
  }

  override end(): void {
    this.#stop();
    super.end();
  }

  override breakOff(cause: Error): void {
    this.#stop();
    super.breakOff(cause);
  }

  #beat(): void {
    if (this.gone) {
      this.#stop();
      return;
    }
    const left = this.#writtenAt + this.#ms - performance.now();
    // A timer may fire a little early.
    const isDue = left <= 1;
    if (isDue && this.#isBetween && !this.#isFull) {
      super.write(COMMENT);
      this.#writtenAt = performance.now();
    }
    this.#timer = setTimeout(() => this.#beat(), isDue ? this.#ms : left);
  }

  #stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #note(chunk: Buffer): void {
    const { length } = chunk;
    if (length === 0) return;
    this.#lastButTwo = length > 2 ? (chunk[length - 3] as number) : length === 2 ? this.#last : this.#lastButOne;
    this.#lastButOne = length > 1 ? (chunk[length - 2] as number) : this.#last;
    this.#last = chunk[length - 1] as number;
    this.#isBetween = this.#endsBlankLine();
  }

  /** Two line ends, each of them LF, CR LF or CR. */
  #endsBlankLine(): boolean {
    if (this.#last === CR) return this.#lastButOne === CR;
    if (this.#last !== LF) return false;
    return this.#lastButOne === LF || (this.#lastButOne === CR && this.#lastButTwo === LF);
  }
}
