/** Holds the status and headers of an answer until the first byte that may be sent. */
import { performance } from "node:perf_hooks";
import { type AnswerType, type BodyChange, isBodiless, typeOf } from "../../../answers/index.ts";
import { type Downstream, headerValue } from "../../../upstream/index.ts";
import type { Exchange } from "../../exchange.ts";
import { changedHeaders } from "./inspected-headers.ts";

export class AnswerHead {
  readonly #to: Downstream;
  readonly #exchange: Exchange;
  readonly #status: number;
  readonly #statusText: string;
  #headers: readonly string[];
  readonly type: AnswerType;
  #waitingSince = performance.now();
  #isSent = false;
  #silenceTimer: NodeJS.Timeout | undefined;

  constructor(to: Downstream, exchange: Exchange, status: number, statusText: string, headers: readonly string[]) {
    this.#to = to;
    this.#exchange = exchange;
    this.#status = status;
    this.#statusText = statusText;
    this.#headers = headers;
    this.type = typeOf(headerValue(headers, "content-type") ?? "");
  }

  get isSent(): boolean {
    return this.#isSent;
  }

  get isBodiless(): boolean {
    return isBodiless(this.#exchange.request.method, this.#status);
  }

  /** Content encoding; empty without one. */
  get encoding(): string {
    const named = headerValue(this.#headers, "content-encoding")?.trim().toLowerCase() ?? "";
    return named === "identity" ? "" : named;
  }

  /** Corrects the headers after the body was decoded to `length` bytes. */
  setDecodedLength(length: number): void {
    this.#headers = changedHeaders(this.#headers, { isDecoded: true, length });
  }

  /** Calls `open` if the head of a stream is still held back after `ms` milliseconds; 0 means never. */
  whenSilent(ms: number, open: () => void): void {
    if (ms > 0 && this.type.name === "text/event-stream" && this.#status < 300) {
      this.#silenceTimer = setTimeout(open, ms).unref();
    }
  }

  /** Counts the time since the last call as time of waiting for the provider. */
  addWait(): void {
    const now = performance.now();
    this.#exchange.addWaitMs(now - this.#waitingSince);
    this.#waitingSince = now;
  }

  /** Sends the head. Must be called once. Throws if the headers cannot be written. */
  send(change: BodyChange): void {
    this.#isSent = true;
    clearTimeout(this.#silenceTimer);
    this.#to.start(this.#status, this.#statusText, changedHeaders(this.#headers, change));
  }
}
