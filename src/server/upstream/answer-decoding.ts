/**
 * Decodes the content encodings of an answer as it streams, because providers and their proxies compress although `identity` was
 * requested. Source: RFC 9110, section 8.4; design decisions, section 20.
 */
import type { Duplex } from "node:stream";
import { codingOf, layersIn } from "../coding/index.ts";
import { headerValue } from "./header-value.ts";

/** Maximum number of nested encodings. In practice there is one; each costs a decoder. */
const MAX_LAYERS = 3;
const CHUNK_BYTES = 16 << 10;

/** Maximum ratio of expansion. JSON and events expand five to thirty times; the formats allow a thousand times and more. */
const MAX_RATIO = 100;
/** Size up to which any body may expand regardless of the ratio, in bytes. */
const MAX_UNCHECKED_BYTES = 512 << 10;

/**
 * Number of bytes that are checked to find out whether the body is compressed: the first bytes of a compressed body are never all
 * text.
 */
const SNIFFED_BYTES = 12;

/** Error if the body cannot be decoded. Its message may be shown. */
class DecodingError extends Error {
  readonly code = "UPSTREAM_MALFORMED";
}

export interface DecodedSink {
  /** Receives a decoded chunk. Returns false if there is no room; `resume` continues. */
  onDecoded(chunk: Buffer): boolean;
  onDecodedEnd(): void;
  onDecodingFailed(cause: DecodingError): void;
}

/** Returns whether the body is encoded, so that its text cannot be read. */
export function isEncoded(headers: readonly string[]): boolean {
  return layersIn(headerValue(headers, "content-encoding")).length > 0;
}

/** Returns the headers of an answer that is read, without a `content-encoding` that names no encoding. */
export function withoutFalseEncoding(headers: readonly string[]): readonly string[] {
  const header = headerValue(headers, "content-encoding");
  if (header === undefined || header.toLowerCase() === "identity") return headers;
  if (layersIn(header).length > 0) return headers;
  return headers.filter((_, at) => headers[at - (at % 2)]?.toLowerCase() !== "content-encoding");
}

const NOTHING = Buffer.alloc(0);

/** Returns whether all encodings are supported. A body with any other encoding passes unchanged. */
export const areSupported = (layers: readonly string[]): boolean =>
  layers.length > 0 && layers.length <= MAX_LAYERS && layers.every((name) => codingOf(name, NOTHING) !== undefined);

export class AnswerDecoding {
  readonly #layers: readonly string[];
  readonly #sink: DecodedSink;
  /** Decoders, outermost first; `undefined` until enough of the body has arrived. */
  #decoders: readonly Duplex[] | undefined;
  #head: Buffer = NOTHING;
  #bytesIn = 0;
  #bytesOut = 0;
  #hasEnded = false;
  /** Called when there is room again; set while the connection waits. */
  #onRoom: (() => void) | undefined;

  /** Creates a decoder. `layers`: encodings that `areSupported` accepts. */
  constructor(layers: readonly string[], sink: DecodedSink) {
    this.#layers = layers;
    this.#sink = sink;
  }

  /** Decodes a chunk. Returns false if there is no room; `onRoom` is called when there is room again. */
  push(chunk: Buffer, onRoom: () => void): boolean {
    if (this.#hasEnded) return true;
    this.#bytesIn += chunk.length;
    if (this.#decoders === undefined) {
      this.#head = Buffer.concat([this.#head, chunk]);
      if (this.#head.length < SNIFFED_BYTES) return true;
      return this.#begin(onRoom);
    }
    return this.#write(chunk, onRoom);
  }

  end(): void {
    if (this.#hasEnded) return;
    if (this.#decoders === undefined) this.#begin(() => undefined);
    const [first] = this.#decoders ?? [];
    if (first === undefined) this.#finish();
    else first.end();
  }

  /** Continues after the receiver of the decoded bytes has room again. */
  resume(): void {
    const decoders = this.#decoders ?? [];
    if (decoders.length > 0) decoders.at(-1)?.resume();
    else this.#reportRoom();
  }

  /** Drops the rest of the body. */
  destroy(): void {
    this.#hasEnded = true;
    for (const decoder of this.#decoders ?? []) decoder.destroy();
  }

  #begin(onRoom: () => void): boolean {
    const head = this.#head;
    this.#head = NOTHING;
    // Some servers declare an encoding that their proxy has already decoded.
    this.#decoders = head.length === 0 || looksPlain(head) ? [] : this.#open(head);
    return head.length === 0 || this.#write(head, onRoom);
  }

  #open(head: Buffer): readonly Duplex[] {
    const decoders = this.#layers.toReversed().map((name, at) => {
      // The first bytes are more reliable than the header, if they identify an encoding.
      const coding = codingOf(at === 0 ? (encodingByMagicNumber(head) ?? name) : name, at === 0 ? head : ZLIB_HEADER);
      if (coding === undefined) throw new Error("the content encoding is unknown");
      return coding.decoder(CHUNK_BYTES);
    });
    for (const [at, decoder] of decoders.entries()) {
      decoder.on("error", () => this.#fail("it cannot be decompressed as its `content-encoding` says"));
      const next = decoders[at + 1];
      if (next !== undefined) decoder.pipe(next);
    }
    const last = decoders.at(-1);
    last?.on("data", (plain: Buffer) => {
      if (!this.#passOn(plain)) last.pause();
    });
    last?.on("end", () => this.#finish());
    return decoders;
  }

  #write(chunk: Buffer, onRoom: () => void): boolean {
    const [first] = this.#decoders ?? [];
    this.#onRoom = onRoom;
    if (first === undefined) return this.#passOn(chunk);
    const hasRoom = first.write(chunk);
    if (!hasRoom) first.once("drain", () => this.#reportRoom());
    return hasRoom;
  }

  #reportRoom(): void {
    const onRoom = this.#onRoom;
    this.#onRoom = undefined;
    if (!this.#hasEnded) onRoom?.();
  }

  /** Passes decoded bytes on. Returns false if the sink has no room. */
  #passOn(plain: Buffer): boolean {
    if (this.#hasEnded) return true;
    this.#bytesOut += plain.length;
    if (this.#bytesOut > Math.max(MAX_UNCHECKED_BYTES, this.#consumedBytes * MAX_RATIO)) {
      this.#fail(`it unpacks to more than ${MAX_RATIO} times its size`);
      return true;
    }
    return this.#sink.onDecoded(plain);
  }

  /** Number of compressed bytes that the decoder has processed, as far as it reports it. */
  get #consumedBytes(): number {
    const first = this.#decoders?.[0] as { readonly bytesWritten?: number } | undefined;
    return first?.bytesWritten ?? this.#bytesIn;
  }

  #finish(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#sink.onDecodedEnd();
  }

  #fail(what: string): void {
    if (this.#hasEnded) return;
    this.destroy();
    this.#sink.onDecodingFailed(new DecodingError(what));
  }
}

/** Header of zlib data. It makes `codingOf` assume the usual form of `deflate` for a layer whose bytes have not arrived yet. */
const ZLIB_HEADER = Buffer.from([0x78, 0x9c]);

const GZIP_MAGIC = Buffer.from([0x1f, 0x8b, 0x08]);
const ZSTD_MAGIC = Buffer.from([0x28, 0xb5, 0x2f, 0xfd]);

/** Returns the encoding by its magic number. Source: RFC 1952, section 2.3.1; RFC 8878, section 3.1.1. */
function encodingByMagicNumber(head: Buffer): string | undefined {
  if (head.subarray(0, GZIP_MAGIC.length).equals(GZIP_MAGIC)) return "gzip";
  return head.subarray(0, ZSTD_MAGIC.length).equals(ZSTD_MAGIC) ? "zstd" : undefined;
}

/** Returns whether the text begins like JSON, events or an HTML page. */
function looksPlain(head: Buffer): boolean {
  const start = head.subarray(0, SNIFFED_BYTES);
  return /^\s*[[{"<:dei]/.test(start.toString("latin1")) && start.every(isTextByte);
}

const isTextByte = (byte: number): boolean =>
  byte === 0x09 || byte === 0x0a || byte === 0x0d || (byte >= 0x20 && byte < 0x7f);
