/**
 * Sends heartbeats on a stream that the gateway writes itself, because load balancers close connections that are silent for a
 * minute and models may think longer. Source: design decisions, section 20; WHATWG HTML, section 9.2.7.
 */
import { performance } from "node:perf_hooks";
import { type Downstream, headerValue, PassThrough } from "../../upstream/index.ts";

/** Default interval between heartbeats on a silent stream, in milliseconds. */
export const HEARTBEAT_MS = 15_000;

/** Heartbeat: a comment, which clients of event streams ignore. */
const COMMENT = Buffer.from(": keep-alive\n\n");

const LF = 0x0a;
const CR = 0x0d;

/**
 * Adds heartbeats to `to`. `ms`: interval; 0 for none. Must only be used for a stream that the gateway writes itself, because
 * nothing may be inserted into a provider's own bytes.
 */
export function withHeartbeat(to: Downstream, intervalMs: number): Downstream {
  return intervalMs === 0 ? to : new Heartbeat(to, intervalMs);
}

class Heartbeat extends PassThrough {
  readonly #ms: number;
  #timer: NodeJS.Timeout | undefined;
  #writtenAt = 0;
  /** Whether the written bytes end with a complete event, so that a comment can follow. */
  #isBetweenEvents = true;
  /** Last byte written; the next two fields are the bytes before it. */
  #last = 0;
  #lastButOne = 0;
  #lastButTwo = 0;
  /** Whether the client's buffer is full. */
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
    this.#trackEnd(chunk);
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
    if (this.isGone) {
      this.#stop();
      return;
    }
    const left = this.#writtenAt + this.#ms - performance.now();
    // A timer may fire slightly early.
    const isDue = left <= 1;
    if (isDue && this.#isBetweenEvents && !this.#isFull) {
      super.write(COMMENT);
      this.#writtenAt = performance.now();
    }
    this.#timer = setTimeout(() => this.#beat(), isDue ? this.#ms : left);
  }

  #stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #trackEnd(chunk: Buffer): void {
    const { length } = chunk;
    if (length === 0) return;
    this.#lastButTwo = length > 2 ? (chunk[length - 3] as number) : length === 2 ? this.#last : this.#lastButOne;
    this.#lastButOne = length > 1 ? (chunk[length - 2] as number) : this.#last;
    this.#last = chunk[length - 1] as number;
    this.#isBetweenEvents = this.#endsBlankLine();
  }

  /** Returns whether the stream ends with two line ends, each of them LF, CR LF or CR. */
  #endsBlankLine(): boolean {
    if (this.#last === CR) return this.#lastButOne === CR;
    if (this.#last !== LF) return false;
    return this.#lastButOne === LF || (this.#lastButOne === CR && this.#lastButTwo === LF);
  }
}
