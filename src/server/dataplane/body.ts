/** Reads a request's body whole: it must be known before routing, and sent again when an attempt fails. */
import type { IncomingMessage } from "node:http";
import { GatewayError } from "../../base/index.ts";
import { Gathering, type Holding } from "../memory/index.ts";

const EMPTY = Buffer.alloc(0);

/** A sender that has begun and stands still holds its part of the account for nothing. One that has not holds nothing. */
const STILL_MS = 30_000;

/**
 * Throws `body_too_large` before reading where the length is declared, `overloaded` where no room is left. What is held is for
 * the caller to give back.
 */
export function readBody(request: IncomingMessage, maxBytes: number, holding: Holding): Buffer | Promise<Buffer> {
  const declared = request.headers["content-length"];
  if (declared === undefined && request.headers["transfer-encoding"] === undefined) return EMPTY;
  if (declared === "0") return EMPTY;
  if (declared !== undefined && Number(declared) > maxBytes) throw tooLarge(maxBytes);

  return new Promise((resolve, reject) => {
    const length = declared === undefined ? undefined : Number(declared);
    const gathering = new Gathering(holding, length ?? maxBytes, true);
    let still: NodeJS.Timeout | undefined;
    let isOver = false;
    const over = (): void => {
      isOver = true;
      clearTimeout(still);
      request.off("data", take);
    };
    const fail = (error: unknown): void => {
      if (isOver) return;
      over();
      gathering.clear(); // what still arrives is read away for a while, and must not keep it
      reject(error);
    };
    const take = (chunk: Buffer): void => {
      try {
        if (gathering.bytes + chunk.length > maxBytes) throw tooLarge(maxBytes);
        gathering.add(chunk);
      } catch (error) {
        fail(error);
        return;
      }
      if (still !== undefined) still.refresh();
      // Most bodies come at once, and need no timer.
      else if (gathering.bytes !== length) {
        still = setTimeout(() => fail(new GatewayError("request_timeout", "The request body stood still.")), STILL_MS);
      }
    };
    request.on("data", take);
    request.once("end", () => {
      if (isOver) return;
      over();
      resolve(gathering.take());
    });
    // Closed before its end: the client left. Whoever answers finds that nobody listens.
    request.once("close", () => {
      if (!request.complete) fail(new GatewayError("invalid_request", "The request ended before its body did."));
    });
  });
}

function tooLarge(maxBytes: number): GatewayError {
  return new GatewayError("body_too_large", `The request body is larger than ${maxBytes} bytes.`);
}
