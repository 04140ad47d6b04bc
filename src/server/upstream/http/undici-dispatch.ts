/** Sends requests through undici: HTTP/2, and unusual requests. */
import type { Dispatcher, Pool } from "undici";
import type { UpstreamRequest } from "../ports.ts";
import { type AnswerHandler, HttpFault, malformed, type RequestInProgress } from "./types.ts";

/** Pools that have answered a request, so that their connections may be reused ones. */
const poolsThatAnswered = new WeakSet<Dispatcher>();

/**
 * Dispatches a request. Never throws. `openLone` opens the connection for sending the request again if a reused connection of the
 * pool turns out to be closed. Without it nothing is sent twice.
 */
export function dispatchWithUndici(
  pool: Pool,
  request: UpstreamRequest,
  handler: AnswerHandler,
  openLone?: () => Pool,
): void {
  const replay =
    openLone === undefined
      ? undefined
      : () => {
          const lone = openLone();
          send(lone, request, new UndiciHandler(handler, lone, undefined));
          lone.close().catch(() => undefined); // The pool closes after the request, whose failure the handler reports.
        };
  send(pool, request, new UndiciHandler(handler, pool, replay));
}

function send(dispatcher: Dispatcher, { method, path, headers, body }: UpstreamRequest, handler: UndiciHandler): void {
  try {
    const options = { method: method as Dispatcher.HttpMethod, path, headers: headers as string[], body };
    dispatcher.dispatch(options, handler);
  } catch (cause) {
    handler.onError(cause instanceof Error ? cause : new Error(String(cause)));
  }
}

/**
 * Returns whether the server closed a reused connection. Recognizes undici's errors for HTTP/1.1 and HTTP/2, and system errors.
 */
function isClosed(cause: Error): boolean {
  const { socket } = cause as Error & { readonly socket?: { readonly bytesRead?: number } | null };
  if (socket?.bytesRead === 0) return false; // The connection was new: nothing was ever read from it.
  const code = "code" in cause ? String(cause.code) : "";
  return /^(?:UND_ERR_SOCKET|ECONNRESET|EPIPE|ERR_HTTP2_\w+)$/.test(code) || cause.message.includes("GOAWAY");
}

/** Returns whether undici could not parse the answer. */
const isMalformed = (cause: Error): cause is Error & { readonly code: string } =>
  "code" in cause && /^(?:HPE_\w+|UND_ERR_(?:HEADERS_OVERFLOW|RES_CONTENT_LENGTH_MISMATCH))$/.test(String(cause.code));

class UndiciHandler implements Dispatcher.DispatchHandler, RequestInProgress {
  readonly #handler: AnswerHandler;
  readonly #dispatcher: Dispatcher;
  readonly #replay: (() => void) | undefined;
  #abort: ((cause?: Error) => void) | undefined;
  #isSent = false;
  #hasAnswer = false;
  #isAborted = false;

  constructor(handler: AnswerHandler, dispatcher: Dispatcher, replay: (() => void) | undefined) {
    this.#handler = handler;
    this.#dispatcher = dispatcher;
    this.#replay = replay;
  }

  abort(): void {
    this.#isAborted = true;
    this.#abort?.(new HttpFault("UPSTREAM_ABORTED", "the request was aborted"));
  }

  onConnect(abort: (cause?: Error) => void): void {
    this.#abort = abort;
    this.#isSent = true;
    this.#handler.onConnected(this);
  }

  onHeaders(status: number, headers: Buffer[], resume: () => void, statusText: string): boolean {
    this.#hasAnswer = true;
    if (status < 200) return true; // A final answer follows this informational one.
    const texts: string[] = [];
    for (const each of headers) texts.push(each.toString("latin1"));
    this.#handler.onHead(status, statusText, texts, resume);
    return true;
  }

  onData(chunk: Buffer): boolean {
    return this.#handler.onData(chunk);
  }

  onComplete(): void {
    poolsThatAnswered.add(this.#dispatcher);
    this.#handler.onComplete();
  }

  onError(cause: Error): void {
    const mayReplay = this.#isSent && !this.#hasAnswer && !this.#isAborted && poolsThatAnswered.has(this.#dispatcher);
    if (mayReplay && this.#replay !== undefined && isClosed(cause)) {
      this.#handler.onDisconnected?.();
      this.#replay();
      return;
    }
    this.#handler.onFailed(isMalformed(cause) ? malformed(`it breaks the protocol (${cause.code})`) : cause);
  }
}
