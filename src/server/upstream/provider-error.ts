/**
 * Reads type and code of a provider's error. Its text is never kept, because it may contain a prompt or a credential; a type or
 * code that does not look like a word is dropped too. Source: dialects reference, 10.1.
 */
import { brotliDecompressSync, gunzipSync, inflateSync, type ZlibOptions } from "node:zlib";

export interface ProviderError {
  readonly type: string | null;
  readonly code: string | null;
}

const NO_PROVIDER_ERROR: ProviderError = Object.freeze({ type: null, code: null });

/** Maximum size of a body, in bytes. Error messages of APIs are shorter. */
const MAX_BYTES = 16 << 10;
const MAX_DECODED_BYTES = 64 << 10;

/**
 * Pattern of a type or code: words joined by dots, dashes or underscores, with a few digits after a word, and numbers. Examples:
 * `rate_limit_error`, `DeploymentNotFound`, `http_429`. Any other mix of letters and digits may be a key.
 */
const WORDS = /^(?:[A-Za-z]{1,32}\d{0,4}|\d{1,6})(?:[._-](?:[A-Za-z]{1,32}\d{0,4}|\d{1,6}))*$/;
const MAX_LENGTH = 64;

type Decode = (bytes: Buffer, options: ZlibOptions) => Buffer;
const DECODERS: ReadonlyMap<string, Decode> = new Map<string, Decode>([
  ["gzip", gunzipSync],
  ["x-gzip", gunzipSync],
  ["deflate", inflateSync],
  ["br", brotliDecompressSync],
]);

/** Collects the body of a failed answer. */
export class ErrorBody {
  readonly #encoding: string;
  #chunks: Buffer[] = [];
  #bytes = 0;
  #reported = NO_PROVIDER_ERROR;

  constructor(encoding: string | undefined) {
    this.#encoding = encoding?.toLowerCase() ?? "identity";
  }

  add(chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#bytes <= MAX_BYTES) this.#chunks.push(chunk);
  }

  end(): void {
    const chunks = this.#chunks;
    this.#chunks = [];
    if (this.#bytes === 0 || this.#bytes > MAX_BYTES) return;
    try {
      this.#reported = providerErrorIn(decoded(Buffer.concat(chunks), this.#encoding).toString("utf8"));
    } catch {
      // The body does not match its content encoding.
    }
  }

  /** Type and code of the error; empty until the body has ended. */
  get reported(): ProviderError {
    return this.#reported;
  }
}

function decoded(body: Buffer, encoding: string): Buffer {
  return DECODERS.get(encoding)?.(body, { maxOutputLength: MAX_DECODED_BYTES }) ?? body;
}

/** Parses the JSON text of an error in either dialect, or of hosts that place its members at the top level. */
export function providerErrorIn(text: string): ProviderError {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return NO_PROVIDER_ERROR;
  }
  const body = recordOf(value);
  const error = Array.isArray(value) ? recordOf(recordOf(value[0])["error"]) : recordOf(body["error"]);
  return {
    type: wordOf(error["type"]) ?? wordOf(error["status"]) ?? (body["type"] === "error" ? null : wordOf(body["type"])),
    code: wordOf(error["code"]) ?? wordOf(body["code"]),
  };
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}

function wordOf(value: unknown): string | null {
  const text = typeof value === "number" ? String(value) : value;
  return typeof text === "string" && text.length <= MAX_LENGTH && WORDS.test(text) ? text : null;
}
