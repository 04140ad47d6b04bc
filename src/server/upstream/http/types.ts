/** Interfaces to send requests to an origin and to receive their answers. */
import type { UpstreamRequest } from "../ports.ts";

/** A request in progress. */
export interface Sending {
  /** Aborts the answer; `failed` follows immediately. Does nothing if the handler's answer has ended. */
  abort(handler: AnswerHandler): void;
}

/** Receiver of one answer: `connected`, `head`, `data` for each chunk, then `complete`; or `failed` instead of the rest. */
export interface AnswerHandler {
  /** The request is being sent. A failure before this call means that nothing was sent. Called again if the request is resent. */
  connected(sending: Sending): void;
  /** An idle connection turned out to be closed: the request is sent again over another one. */
  disconnected?(): void;
  /**
   * A final answer begins. `headers` are alternating names and values, one character per byte, as they were sent. `resume` is
   * to be called when there is room again after `data` returned false.
   */
  head(status: number, statusText: string, headers: readonly string[], resume: () => void): void;
  /** Bytes of the body, owned by the receiver. Returns false if there is no room for more. */
  data(chunk: Buffer): boolean;
  complete(): void;
  failed(cause: Error): void;
}

export interface HttpClient {
  /** Never throws. An exception of `handler` ends its answer and its connection. */
  dispatch(request: UpstreamRequest, handler: AnswerHandler): void;
  /** Number of open connections. */
  readonly connections: number;
  /** Accepts no new requests; those in progress finish. */
  close(): void;
  /** Closes every connection; requests in progress fail. */
  destroy(): Promise<void>;
}

/** The server, or the path to it, violated HTTP. The message may be shown. */
export class HttpFault extends Error {
  readonly code: "UPSTREAM_CLOSED" | "UPSTREAM_SILENT" | "UPSTREAM_MALFORMED" | "UPSTREAM_ABORTED";

  constructor(code: HttpFault["code"], message: string) {
    super(message);
    this.code = code;
  }
}

export const malformed = (what: string): HttpFault =>
  new HttpFault("UPSTREAM_MALFORMED", `the answer is no HTTP/1.1: ${what}`);
