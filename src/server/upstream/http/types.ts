/** Defines the interfaces for sending requests to an origin and receiving their answers. */
import type { UpstreamRequest } from "../ports.ts";

/** Request in progress. */
export interface RequestInProgress {
  /** Aborts the answer and calls `onFailed` immediately. Has no effect if the handler's answer has ended. */
  abort(handler: AnswerHandler): void;
}

/**
 * Receiver of one answer. The calls are `onConnected`, `onHead`, `onData` for each chunk, then `onComplete`; or `onFailed` instead of the
 * rest.
 */
export interface AnswerHandler {
  /** Called when the request is being sent, and again if it is resent. A failure before this call means that nothing was sent. */
  onConnected(inProgress: RequestInProgress): void;
  /** Called when an idle connection turns out to be closed, so that the request is sent again over another one. */
  onDisconnected?(): void;
  /**
   * Called when a final answer begins. `headers`: alternating names and values as they were sent, one character per byte. The
   * receiver must call `resume` when there is room again after `onData` returned false.
   */
  onHead(status: number, statusText: string, headers: readonly string[], resume: () => void): void;
  /** Receives bytes of the body, which the receiver then owns. Returns false if there is no room for more. */
  onData(chunk: Buffer): boolean;
  onComplete(): void;
  onFailed(cause: Error): void;
}

export interface HttpClient {
  /** Dispatches a request. Never throws. An exception of `handler` ends its answer and its connection. */
  dispatch(request: UpstreamRequest, handler: AnswerHandler): void;
  /** Number of open connections. */
  readonly connections: number;
  /** Accepts no new requests. Those in progress finish. */
  close(): void;
  /** Closes every connection. Requests in progress fail. */
  destroy(): Promise<void>;
}

/** Error if the server, or the path to it, violated HTTP. The message may be shown. */
export class HttpFault extends Error {
  readonly code: "UPSTREAM_CLOSED" | "UPSTREAM_SILENT" | "UPSTREAM_MALFORMED" | "UPSTREAM_ABORTED";

  constructor(code: HttpFault["code"], message: string) {
    super(message);
    this.code = code;
  }
}

export const malformed = (what: string): HttpFault =>
  new HttpFault("UPSTREAM_MALFORMED", `the answer is not HTTP/1.1: ${what}`);
