/**
 * Decodes Zstandard for a Node version without it (before 22.15). Source: RFC 8878. The frames are parsed before anything is
 * decoded: a block decodes to at most 128 KiB, so the reader can stop after any block of a body that decodes to too much.
 */
import { Duplex } from "node:stream";
import { Decompress } from "fzstd";

const MAGIC = 0xfd2fb528;
/** Magic number of a skippable frame. Its last four bits may have any value. */
const SKIPPABLE = 0x184d2a50;
const MAX_BLOCK_BYTES = 128 << 10;
/**
 * Maximum window of a frame, in bytes: the maximum size of a body. The decoder keeps it to copy from. Encoders request at most 8
 * MiB by default.
 */
const MAX_WINDOW_BYTES = 32 << 20;

const RLE = 1;
const RESERVED = 3;

/** Returns a decoder. Reading from it fails if the data is invalid. */
export const zstdDecoder = (): Duplex => Duplex.from(decodedBlocks);

async function* decodedBlocks(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of source) chunks.push(chunk);
  const body = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks);
  for (let at = 0; at < body.length; ) {
    const { pieces, end } = frameAt(body, at);
    const out: Buffer[] = [];
    const decoder = new Decompress((data) => {
      // The decoder reuses this memory, so the data is copied.
      if (data.length > 0) out.push(Buffer.from(data));
    });
    for (const [index, [from, to]] of pieces.entries()) {
      decoder.push(body.subarray(from, to), index === pieces.length - 1);
      yield* out.splice(0);
    }
    at = end;
  }
}

interface Frame {
  /** Offsets of the frame's header and of each of its blocks; empty if the frame is skipped. */
  readonly pieces: readonly (readonly [from: number, to: number])[];
  readonly end: number;
}

function frameAt(body: Buffer, start: number): Frame {
  const magic = bytesAt(body, start, 4).readUInt32LE();
  if ((magic & 0xfffffff0) >>> 0 === SKIPPABLE) {
    return { pieces: [], end: start + 8 + bytesAt(body, start + 4, 4).readUInt32LE() };
  }
  if (magic !== MAGIC) throw new Error("not a Zstandard frame");
  const descriptor = bytesAt(body, start + 4, 1).readUInt8();
  const isSingleSegment = (descriptor & 0x20) !== 0;
  const hasChecksum = (descriptor & 0x04) !== 0;
  if ((descriptor & 0x03) !== 0) throw new Error("a frame that needs a dictionary");
  const sizeLength = [isSingleSegment ? 1 : 0, 2, 4, 8][descriptor >> 6] ?? 0;
  const windowLength = isSingleSegment ? 0 : 1;
  const sizeAt = start + 5 + windowLength;
  const window = isSingleSegment
    ? contentSize(bytesAt(body, sizeAt, sizeLength))
    : windowSize(bytesAt(body, start + 5, 1)[0] ?? 0);
  if (window > MAX_WINDOW_BYTES) throw new Error("a window that is too large");
  const pieces: (readonly [number, number])[] = [];
  let at = sizeAt + sizeLength;
  pieces.push([start, at]);
  for (let isLast = false; !isLast; ) {
    const header = bytesAt(body, at, 3).readUIntLE(0, 3);
    isLast = (header & 1) === 1;
    const type = (header >> 1) & 3;
    const size = header >> 3;
    if (type === RESERVED || size > MAX_BLOCK_BYTES) throw new Error("an invalid block");
    const end = at + 3 + (type === RLE ? 1 : size);
    bytesAt(body, at, end - at);
    pieces.push([at, isLast && hasChecksum ? end + 4 : end]);
    at = end;
  }
  const end = hasChecksum ? at + 4 : at;
  bytesAt(body, at, end - at);
  return { pieces, end };
}

function bytesAt(body: Buffer, at: number, length: number): Buffer {
  if (at + length > body.length) throw new Error("a frame that is cut off");
  return body.subarray(at, at + length);
}

function contentSize(field: Buffer): number {
  if (field.length === 8) return Number(field.readBigUInt64LE());
  return field.length === 2 ? field.readUInt16LE() + 256 : field.readUIntLE(0, field.length);
}

function windowSize(descriptor: number): number {
  const base = 2 ** (10 + (descriptor >> 3));
  return base + (base / 8) * (descriptor & 7);
}

/** Returns an encoder that does not compress. It is used for bodies that were changed on their way. */
export const zstdEncoder = (): Duplex => Duplex.from(storedFrame);

async function* storedFrame(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of source) chunks.push(chunk);
  const body = Buffer.concat(chunks);
  const head = Buffer.alloc(9);
  head.writeUInt32LE(MAGIC, 0);
  head.writeUInt8(0xa0, 4); // flags: single segment, content size in four bytes
  head.writeUInt32LE(body.length, 5);
  yield head;
  for (let at = 0; at === 0 || at < body.length; at += MAX_BLOCK_BYTES) {
    const block = body.subarray(at, at + MAX_BLOCK_BYTES);
    const header = Buffer.alloc(3);
    header.writeUIntLE((block.length << 3) | (at + MAX_BLOCK_BYTES >= body.length ? 1 : 0), 0, 3);
    yield header;
    if (block.length > 0) yield block;
  }
}
