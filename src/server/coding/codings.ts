/**
 * Defines the content codings that this process can decode and encode (RFC 9110, section 8.4.1; RFC 1950 to 1952, 7932, 8878).
 */
import type { Duplex } from "node:stream";
import zlib from "node:zlib";
import { zstdDecoder, zstdEncoder } from "./zstd.ts";

export interface Coding {
  readonly decoder: (chunkSize: number) => Duplex;
  readonly encoder: () => Duplex;
}

/**
 * Brotli parameters with a quality at which it is as fast as the other codings. The highest quality would take a hundred times as
 * long.
 */
const BROTLI = { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 4 } };

const GZIP: Coding = {
  decoder: (chunkSize) => zlib.createGunzip({ chunkSize }),
  encoder: () => zlib.createGzip(),
};
const DEFLATE: Coding = {
  decoder: (chunkSize) => zlib.createInflate({ chunkSize }),
  encoder: () => zlib.createDeflate(),
};
/** Raw deflate without the header of RFC 1950. Some clients call it `deflate`, and servers accept it. */
const RAW_DEFLATE: Coding = {
  decoder: (chunkSize) => zlib.createInflateRaw({ chunkSize }),
  encoder: () => zlib.createDeflateRaw(),
};

const CODINGS: ReadonlyMap<string, Coding> = new Map([
  ["gzip", GZIP],
  ["x-gzip", GZIP],
  ["deflate", DEFLATE],
  [
    "br",
    {
      decoder: (chunkSize) => zlib.createBrotliDecompress({ chunkSize }),
      encoder: () => zlib.createBrotliCompress(BROTLI),
    },
  ],
  ["zstd", zstd()],
]);

/** Names of the supported codings of requests, for messages. */
export const CODING_NAMES: readonly string[] = ["gzip", "deflate", "br", "zstd"];

/**
 * Returns the coding with this name, or `undefined` if it is unknown. `body`: the encoded body, whose header is needed for
 * deflate.
 */
export function codingOf(name: string, body: Buffer): Coding | undefined {
  const coding = CODINGS.get(name);
  return coding === DEFLATE && !hasZlibHeader(body) ? RAW_DEFLATE : coding;
}

/** Returns whether the body has a zlib header. Source: RFC 1950, section 2.2. */
const hasZlibHeader = (body: Buffer): boolean =>
  body.length >= 2 && ((body[0] ?? 0) & 0x0f) === 8 && body.readUInt16BE(0) % 31 === 0;

/** Returns Node's own Zstandard coding, available from version 22.15, otherwise the one of this folder. */
function zstd(): Coding {
  const { createZstdDecompress, createZstdCompress } = zlib as Partial<ZstdStreams>;
  if (createZstdDecompress === undefined || createZstdCompress === undefined) {
    return { decoder: zstdDecoder, encoder: zstdEncoder };
  }
  return { decoder: (chunkSize) => createZstdDecompress({ chunkSize }), encoder: () => createZstdCompress() };
}

interface ZstdStreams {
  readonly createZstdDecompress: (options: { readonly chunkSize: number }) => Duplex;
  readonly createZstdCompress: () => Duplex;
}
