/** Reads a whole request body. Routing needs the body, and a further attempt sends it again. */
import type { IncomingMessage } from "node:http";
import { GatewayError } from "../../base/index.ts";
import { BodyBuffer, type RequestMemory } from "../memory/index.ts";

const EMPTY = Buffer.alloc(0);

/**
 * Timeout between two chunks of a body: a stalled sender would keep its share of the memory budget. It does not apply before the
 * first chunk, when no memory is used yet.
 */
const STALL_TIMEOUT_MS = 30_000;
/** Time for which the rest of a refused body is read and dropped, so that the client sees the answer. */
const LINGER_MS = 5_000;

/** Callbacks for a body. Exactly one of `onBody` and `onError` is called, once. Neither may throw. */
interface BodyReader {
  /** Called before the body is read, unless it is empty. */
  onStart?(): void;
  onBody(body: Buffer): void;
  onError(error: unknown): void;
}

/**
 * Reads the body of a request into `reader`. Throws `body_too_large` at once if the declared length exceeds `maxBytes`; reports
 * `body_too_large` for other bodies, `overloaded` if the memory budget is exhausted, and `request_timeout` for a stalled sender
 * through `reader.onError`. The caller must release `memory`.
 */
export function readBody(request: IncomingMessage, maxBytes: number, memory: RequestMemory, reader: BodyReader): void {
  const { "content-length": declared, "transfer-encoding": encoding } = request.headers;
  const length = declared === undefined ? undefined : Number(declared);
  if (length === 0 || (length === undefined && encoding === undefined)) {
    reader.onBody(EMPTY);
    return;
  }
  if (length !== undefined && length > maxBytes) throw tooLarge(maxBytes);

  reader.onStart?.();
  const gathering = new BodyBuffer(memory, length ?? maxBytes, true);
  let stallTimer: NodeJS.Timeout | undefined;
  let isSettled = false;
  const settle = (): void => {
    isSettled = true;
    clearTimeout(stallTimer);
    request.off("data", onData);
    request.off("close", onClose);
  };
  const fail = (error: unknown): void => {
    if (isSettled) return;
    settle();
    gathering.clear(); // the rest of the body is read and dropped, so what has arrived must not occupy memory
    reader.onError(error);
  };
  const complete = (): void => {
    if (isSettled) return;
    settle();
    reader.onBody(gathering.take());
  };
  const onData = (chunk: Buffer): void => {
    try {
      if (gathering.bytes + chunk.length > maxBytes) throw tooLarge(maxBytes);
      gathering.add(chunk);
    } catch (error) {
      fail(error);
      return;
    }
    // Node's parser never delivers more than the declared length, so there is no need to wait for its `end` event.
    if (gathering.bytes === length) complete();
    else if (stallTimer !== undefined) stallTimer.refresh();
    else
      stallTimer = setTimeout(
        () => fail(new GatewayError("request_timeout", "The client stopped sending the request body.")),
        STALL_TIMEOUT_MS,
      );
  };
  // The client left before the body was complete, so nobody receives the refusal.
  const onClose = (): void => {
    if (!request.complete)
      fail(new GatewayError("invalid_request", "The connection ended before the request body was complete."));
  };
  request.on("data", onData);
  request.on("close", onClose);
  if (length === undefined) request.on("end", complete);
}

function tooLarge(maxBytes: number): GatewayError {
  return new GatewayError("body_too_large", `The request body is larger than ${maxBytes} bytes.`);
}

/** Returns whether the client waits for `100 Continue` before it sends the body (RFC 9110, section 10.1.1). */
export const expectsContinue = ({ headers: { expect }, httpVersionMinor }: IncomingMessage): boolean =>
  expect !== undefined && httpVersionMinor > 0 && /(?:^|\W)100-continue(?:$|\W)/i.test(expect);

export function declaresBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || (headers["content-length"] ?? "0") !== "0";
}

/**
 * Reads and drops the rest of the body for a while: closing a socket with unread bytes would reset the connection before the
 * client has read the answer.
 */
export function discardBody(request: IncomingMessage): void {
  const timer = setTimeout(() => request.destroy(), LINGER_MS);
  request.once("close", () => clearTimeout(timer));
  request.resume();
}
