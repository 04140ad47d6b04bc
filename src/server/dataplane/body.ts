/** Reads a request's body whole: it must be known before routing, and sent again when an attempt fails. */
import type { IncomingMessage } from "node:http";
import { GatewayError } from "../../base/index.ts";
import { Gathering, type Holding } from "../memory/index.ts";

const EMPTY = Buffer.alloc(0);

/** A sender that has begun and stands still holds its part of the account for nothing. One that has not holds nothing. */
const STILL_MS = 30_000;
/** After a refusal of a body that is still arriving, how long the rest is read away so that the client sees the answer. */
const LINGER_MS = 5_000;

/** Told once, of one or the other. Neither may throw. */
export interface BodyReader {
  /** The body is wanted: called before it is read, unless it is empty. */
  begin?(): void;
  read(body: Buffer): void;
  failed(error: unknown): void;
}

/**
 * Throws `body_too_large` before reading where the length is declared; tells of the same, of `overloaded` where no room is
 * left, and of a sender that stands still. What is held is for the caller to give back.
 */
export function readBody(request: IncomingMessage, maxBytes: number, holding: Holding, reader: BodyReader): void {
  const { "content-length": declared, "transfer-encoding": encoding } = request.headers;
  const length = declared === undefined ? undefined : Number(declared);
  if (length === 0 || (length === undefined && encoding === undefined)) {
    reader.read(EMPTY);
    return;
  }
  if (length !== undefined && length > maxBytes) throw tooLarge(maxBytes);

  reader.begin?.();
  const gathering = new Gathering(holding, length ?? maxBytes, true);
  let still: NodeJS.Timeout | undefined;
  let isOver = false;
  const over = (): void => {
    isOver = true;
    clearTimeout(still);
    request.off("data", take);
    request.off("close", closed);
  };
  const fail = (error: unknown): void => {
    if (isOver) return;
    over();
    gathering.clear(); // what still arrives is read away for a while, and must not keep it
    reader.failed(error);
  };
  const done = (): void => {
    if (isOver) return;
    over();
    reader.read(gathering.take());
  };
  const take = (chunk: Buffer): void => {
    try {
      if (gathering.bytes + chunk.length > maxBytes) throw tooLarge(maxBytes);
      gathering.add(chunk);
    } catch (error) {
      fail(error);
      return;
    }
    // Node's parser gives no byte more than was declared: there is no need to wait for its word that this was the last.
    if (gathering.bytes === length) done();
    else if (still !== undefined) still.refresh();
    else still = setTimeout(() => fail(new GatewayError("request_timeout", "The request body stood still.")), STILL_MS);
  };
  // Closed before its end: the client left. Whoever answers finds that nobody listens.
  const closed = (): void => {
    if (!request.complete) fail(new GatewayError("invalid_request", "The request ended before its body did."));
  };
  request.on("data", take);
  request.on("close", closed);
  if (length === undefined) request.on("end", done);
}

function tooLarge(maxBytes: number): GatewayError {
  return new GatewayError("body_too_large", `The request body is larger than ${maxBytes} bytes.`);
}

/** RFC 9110, section 10.1.1. */
export const awaitsInvitation = ({ headers: { expect }, httpVersionMinor }: IncomingMessage): boolean =>
  expect !== undefined && httpVersionMinor > 0 && /(?:^|\W)100-continue(?:$|\W)/i.test(expect);

export function declaresBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || (headers["content-length"] ?? "0") !== "0";
}

/** Reads away what still arrives, for a while, since closing on unread bytes resets the connection under the answer. */
export function linger(request: IncomingMessage): void {
  const timer = setTimeout(() => request.destroy(), LINGER_MS);
  request.once("close", () => clearTimeout(timer));
  request.resume();
}
