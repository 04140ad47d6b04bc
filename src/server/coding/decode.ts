/** Decodes a body so that it can be read. The original body is forwarded. */
import { GatewayError } from "../../base/index.ts";
import { BodyBuffer, type RequestMemory } from "../memory/index.ts";
import { CODING_NAMES, codingOf } from "./codings.ts";

const CHUNK_BYTES = 64 << 10;
/** Memory of a decoder in addition to its output, in bytes: its window, its tables and the current chunk. */
const DECODER_BYTES = 128 << 10;

/**
 * Maximum ratio of decoded to encoded size. The JSON of real clients decodes to five or twenty times its size; the formats
 * allow a thousand times and more.
 */
const MAX_RATIO = 100;
/** Size that any body may decode to, whatever its encoded size, in bytes. */
const FREE_BYTES = 1 << 20;

/**
 * Decodes a body with one encoding; a list of several is refused, because clients send none. Decoding stops when the output
 * exceeds `maxBytes`, the maximum ratio, or the available memory: throws `body_too_large`, `invalid_request` or `overloaded`. The
 * caller must release the memory that `memory` counts.
 */
export async function decode(body: Buffer, encoding: string, maxBytes: number, memory: RequestMemory): Promise<Buffer> {
  const coding = codingOf(encoding.toLowerCase(), body);
  if (coding === undefined) {
    throw new GatewayError("invalid_request", `The content encoding is not one of ${CODING_NAMES.join(", ")}.`);
  }
  const byRatio = Math.max(FREE_BYTES, body.length * MAX_RATIO);
  memory.hold(DECODER_BYTES);
  const decoder = coding.decoder(CHUNK_BYTES);
  const gathering = new BodyBuffer(memory, Math.min(maxBytes, byRatio));
  try {
    decoder.end(body);
    for await (const chunk of decoder as AsyncIterable<Buffer>) {
      const bytes = gathering.bytes + chunk.length;
      if (bytes > maxBytes) throw tooLarge(`larger than ${maxBytes} bytes`);
      if (bytes > byRatio) throw tooLarge(`more than ${MAX_RATIO} times as large as what was sent`);
      gathering.add(chunk);
    }
    return gathering.take();
  } catch (cause) {
    if (cause instanceof GatewayError) throw cause;
    throw new GatewayError("invalid_request", "The body does not decode as its content encoding says.", { cause });
  } finally {
    decoder.destroy();
    memory.release(DECODER_BYTES);
  }
}

function tooLarge(what: string): GatewayError {
  return new GatewayError("body_too_large", `The request body unpacks to one that is ${what}.`);
}
