/** A request body with its content encoding taken off, so that the model can be read; the original is what is forwarded. */
import { promisify } from "node:util";
import { brotliDecompress, gunzip, inflate } from "node:zlib";
import { GatewayError } from "../../base/index.ts";

type Decoder = (bytes: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>;

const DECODERS: ReadonlyMap<string, Decoder> = new Map([
  ["gzip", promisify(gunzip)],
  ["x-gzip", promisify(gunzip)],
  ["deflate", promisify(inflate)],
  ["br", promisify(brotliDecompress)],
]);

/** Bounded like the body itself, so that a small body cannot grow into a large one. */
export async function decode(body: Buffer, encoding: string, maxBytes: number): Promise<Buffer> {
  const decoder = DECODERS.get(encoding.toLowerCase());
  if (decoder === undefined) {
    throw new GatewayError("invalid_request", "The content encoding is not one of gzip, deflate and br.");
  }
  try {
    return await decoder(body, { maxOutputLength: maxBytes });
  } catch (cause) {
    const isTooLarge = (cause as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE";
    throw isTooLarge
      ? new GatewayError("body_too_large", `The decoded request body is larger than ${maxBytes} bytes.`)
      : new GatewayError("invalid_request", "The body does not decode as its content encoding says.", { cause });
  }
}
