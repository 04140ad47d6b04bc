/** Sends requests through undici: HTTP/2, and unusual requests. */
import type { Dispatcher, Pool } from "undici";
import type { UpstreamRequest } from "../ports.ts";
import { type AnswerHandler, HttpFault, malformed, type Sending } from "./types.ts";

/** Pools that have answered a request, so that their connections may be reused ones. */
const answering = new WeakSet<Dispatcher>();

/**
 * Dispatches a request. Never throws. `openLone` opens the connection for sending the request again if a reused connection of the
 * pool turns out to be closed. Without it nothing is sent twice.
 */
export function dispatchOver(
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
          send(lone, request, new LibraryHandler(handler, lone, undefined));
          lone.close().catch(() => undefined); // The pool closes after the request, whose failure the handler reports.
        };
  send(pool, request, new LibraryHandler(handler, pool, replay));
}

function send(over: Dispatcher, { method, path, headers, body }: UpstreamRequest, handler: LibraryHandler): void {
  try {
    const options = { method: method as Dispatcher.HttpMethod, path, headers: headers as string[], body };
    over.dispatch(options, handler);
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

class LibraryHandler implements Dispatcher.DispatchHandler, Sending {
  readonly #handler: AnswerHandler;
  readonly #over: Dispatcher;
  readonly #replay: (() => void) | undefined;
  #abort: ((cause?: Error) => void) | undefined;
  #isSent = false;
  #isHeard = false;
  #isAborted = false;

  constructor(handler: AnswerHandler, over: Dispatcher, replay: (() => void) | undefined) {
    this.#handler = handler;
    this.#over = over;
    this.#replay = replay;
  }

  abort(): void {
    this.#isAborted = true;
    this.#abort?.(new HttpFault("UPSTREAM_ABORTED", "the request was aborted"));
  }

  onConnect(abort: (cause?: Error) => void): void {
    this.#abort = abort;
    this.#isSent = true;
    this.#handler.connected(this);
  }

  onHeaders(status: number, headers: Buffer[], resume: () => void, statusText: string): boolean {
    this.#isHeard = true;
    if (status < 200) return true; // A final answer follows this informational one.
    const texts: string[] = [];
    for (const each of headers) texts.push(each.toString("latin1"));
    this.#handler.head(status, statusText, texts, resume);
    return true;
  }

  onData(chunk: Buffer): boolean {
    return this.#handler.data(chunk);
  }

  onComplete(): void {
    answering.add(this.#over);
    this.#handler.complete();
  }

  onError(cause: Error): void {
    const mayReplay = this.#isSent && !this.#isHeard && !this.#isAborted && answering.has(this.#over);
    if (mayReplay && this.#replay !== undefined && isClosed(cause)) {
      this.#handler.disconnected?.();
      this.#replay();
      return;
    }
    this.#handler.failed(isMalformed(cause) ? malformed(`it breaks the protocol (${cause.code})`) : cause);
  }
}
