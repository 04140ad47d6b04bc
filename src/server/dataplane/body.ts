/** Reads a request's body whole: it must be known before routing, and sent again when an attempt fails. */
import type { IncomingMessage } from "node:http";
import { GatewayError } from "../../base/index.ts";
import type { Admission } from "./admission.ts";

const EMPTY = Buffer.alloc(0);

export interface HeldBody {
  readonly bytes: Buffer;
  /** Gives the bytes back to the admission's account; may be called more than once. */
  readonly release: () => void;
}

const NO_BODY: HeldBody = { bytes: EMPTY, release: () => undefined };

/** Throws `body_too_large` before reading where the length is declared, `overloaded` where no room is left. */
export function readBody(
  request: IncomingMessage,
  maxBytes: number,
  admission: Admission,
): HeldBody | Promise<HeldBody> {
  const declared = request.headers["content-length"];
  if (declared === undefined && request.headers["transfer-encoding"] === undefined) return NO_BODY;
  if (declared === "0") return NO_BODY;
  if (declared !== undefined && Number(declared) > maxBytes) throw tooLarge(maxBytes);

  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    let released = false;
    const release = (): void => {
      if (released) return;
      released = true;
      admission.release(size);
    };
    const fail = (error: GatewayError): void => {
      request.off("data", take);
      release();
      reject(error);
    };
    const take = (chunk: Buffer): void => {
      if (size + chunk.length > maxBytes) {
        fail(tooLarge(maxBytes));
        return;
      }
      try {
        admission.hold(chunk.length);
      } catch (error) {
        fail(error as GatewayError);
        return;
      }
      size += chunk.length;
      chunks.push(chunk);
    };
    request.on("data", take);
    request.once("end", () => {
      if (!released)
        resolve({ bytes: chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, size), release });
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
