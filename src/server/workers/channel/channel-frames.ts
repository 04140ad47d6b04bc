/** Encodes and parses the frames of a channel: u32 length, big-endian, then that many bytes of UTF-8 JSON, which is one array. */

const HEAD_BYTES = 4;

/** Maximum size of one frame's JSON, in bytes. */
export const MAX_FRAME_BYTES = 16 * 1024 * 1024;

/** Length of one part of a longer entry, in characters. A character takes at most six bytes of JSON. */
export const PART_LENGTH = 2 * 1024 * 1024;

/** Maximum length of an entry in characters: ten times the maximum length of a configuration. */
export const MAX_ENTRY_LENGTH = 256 * 1024 * 1024;

/** Error if the peer sent an invalid frame; nothing after it can be parsed. */
export class BrokenFrame extends Error {
  override readonly name = "BrokenFrame";
}

/** Returns a frame. `entries`: JSON texts. `bytes`: their total length in UTF-8, including one separator each. */
export function encodeFrame(entries: readonly string[], bytes: number): Buffer {
  const length = bytes + 1;
  const frame = Buffer.allocUnsafe(HEAD_BYTES + length);
  frame.writeUInt32BE(length, 0);
  frame.write(`[${entries.join(",")}]`, HEAD_BYTES);
  return frame;
}

/**
 * Returns a function that takes bytes as they arrive and calls `onEntries` with the entries of each complete frame. Throws
 * `BrokenFrame`.
 */
export function createFrameReader(onEntries: (entries: readonly unknown[]) => void): (chunk: Buffer) => void {
  let chunks: Buffer[] = [];
  let bufferedBytes = 0;
  let neededBytes = HEAD_BYTES;
  let isHead = true;

  const take = (): Buffer => {
    const all = chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks, bufferedBytes);
    const taken = all.subarray(0, neededBytes);
    bufferedBytes -= neededBytes;
    chunks = bufferedBytes === 0 ? [] : [all.subarray(neededBytes)];
    return taken;
  };

  return (chunk) => {
    chunks.push(chunk);
    bufferedBytes += chunk.length;
    while (bufferedBytes >= neededBytes) {
      const taken = take();
      if (isHead) {
        neededBytes = taken.readUInt32BE(0);
        if (neededBytes < 2 || neededBytes > MAX_FRAME_BYTES) throw new BrokenFrame(`a frame of ${neededBytes} bytes`);
      } else {
        neededBytes = HEAD_BYTES;
        onEntries(parseEntries(taken));
      }
      isHead = !isHead;
    }
  };
}

function parseEntries(bytes: Buffer): readonly unknown[] {
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString("utf8"));
  } catch {
    throw new BrokenFrame("a frame is not JSON");
  }
  if (!Array.isArray(value)) throw new BrokenFrame("a frame is not an array");
  return value;
}
