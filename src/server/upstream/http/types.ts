/** What sends requests to an origin and tells of their answers. */
import type { UpstreamRequest } from "../ports.ts";

/** Where one request is on its way. */
export interface Sending {
  /** Nothing of the answer is wanted any more; `failed` follows at once. Does nothing once the handler's answer is over. */
  abort(handler: AnswerHandler): void;
}

/** Told of one answer: `connected`, `head`, `data` as often as bytes come, then `complete`; or `failed` instead of what is left. */
export interface AnswerHandler {
  /** The request goes out now. What fails before was never sent. Called again if the request is sent once more. */
  connected(sending: Sending): void;
  /** A connection that was idle turned out to be closed: the request is sent once more over another one. */
  disconnected?(): void;
  /**
   * A final answer begins. `headers`: names and values in turn, a character a byte, as they were sent. `resume` is called
   * when there is room again after `data` said that there is none.
   */
  head(status: number, statusText: string, headers: readonly string[], resume: () => void): void;
  /** Bytes of the body, which are the receiver's. False: no more of them for now. */
  data(chunk: Buffer): boolean;
  complete(): void;
  failed(cause: Error): void;
}

export interface HttpClient {
  /** Never throws. What `handler` throws ends its answer and its connection. */
  dispatch(request: UpstreamRequest, handler: AnswerHandler): void;
  /** Open connections. */
  readonly connections: number;
  /** What is under way ends in its own time; nothing new is taken. */
  close(): void;
  /** Ends every connection; what is under way fails. */
  destroy(): Promise<void>;
}

/** The other side, or the way to it, did not do what HTTP asks for. Its message may be shown. */
export class HttpFault extends Error {
  readonly code: "UPSTREAM_CLOSED" | "UPSTREAM_SILENT" | "UPSTREAM_MALFORMED" | "UPSTREAM_ABORTED";

  constructor(code: HttpFault["code"], message: string) {
    super(message);
    this.code = code;
  }
}

export const malformed = (what: string): HttpFault =>
  new HttpFault("UPSTREAM_MALFORMED", `the answer is no HTTP/1.1: ${what}`);
