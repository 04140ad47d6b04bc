/** What goes over undici: HTTP/2, and requests that are out of the ordinary. */
import type { Dispatcher, Pool } from "undici";
import type { UpstreamRequest } from "../ports.ts";
import { type AnswerHandler, HttpFault, type Sending } from "./types.ts";

/** Never throws. */
export function dispatchOver(pool: Pool, request: UpstreamRequest, handler: AnswerHandler): void {
  const { method, path, headers, body } = request;
  try {
    const options = { method: method as Dispatcher.HttpMethod, path, headers: headers as string[], body };
    pool.dispatch(options, new Told(handler));
  } catch (cause) {
    handler.failed(cause instanceof Error ? cause : new Error(String(cause)));
  }
}

class Told implements Dispatcher.DispatchHandler, Sending {
  readonly #handler: AnswerHandler;
  #abort: ((cause?: Error) => void) | undefined;

  constructor(handler: AnswerHandler) {
    this.#handler = handler;
  }

  abort(): void {
    this.#abort?.(new HttpFault("UPSTREAM_ABORTED", "the request was given up"));
  }

  onConnect(abort: (cause?: Error) => void): void {
    this.#abort = abort;
    this.#handler.connected(this);
  }

  onHeaders(status: number, headers: Buffer[], resume: () => void, statusText: string): boolean {
    if (status < 200) return true; // informational; a final answer follows
    const texts: string[] = [];
    for (const each of headers) texts.push(each.toString("latin1"));
    this.#handler.head(status, statusText, texts, resume);
    return true;
  }

  onData(chunk: Buffer): boolean {
    return this.#handler.data(chunk);
  }

  onComplete(): void {
    this.#handler.complete();
  }

  onError(cause: Error): void {
    this.#handler.failed(cause);
  }
}
