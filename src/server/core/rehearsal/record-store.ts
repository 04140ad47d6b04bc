/** Records of the most recent requests of a node, within a maximum number and memory size. */
import { CHUNK_ROWS, type PackedChunk, RecordChunk, unpack } from "./record-chunk.ts";
import type { RecordedRequest } from "./recorded-request.ts";

/** Maximum number of requests that a node keeps records of. */
const KEPT_RECORDS = 20_000;
/** Default of `GATEWAY_REHEARSAL_MEMORY`, in bytes. */
export const DEFAULT_RECORD_BYTES = 64 << 20;

export interface RecordStore {
  add(request: RecordedRequest): void;
  /** Adds records of another process of the node. */
  take(chunk: PackedChunk): void;
  /** Returns the chunks from number `from` on, oldest first. Numbers increase by one per chunk; dropped chunks are missing. */
  read(from?: number): readonly { readonly number: number; readonly chunk: PackedChunk }[];
  /** Returns the time since which every ended request is kept, in milliseconds since 1970. */
  since(): number;
  bytes(): number;
}

/** Creates a store. `startedAt` is the earliest time at which a request may have arrived, in milliseconds since 1970. */
export function createRecordStore(maxBytes: number, startedAt: number, maxRecords = KEPT_RECORDS): RecordStore {
  const chunks: RecordChunk[] = [];
  let dropped = 0;
  let records = 0;
  let sealedBytes = 0;
  let coveredSince = startedAt;
  /** True if the last chunk takes no more records. */
  let isSealed = true;

  const dropOldest = (): void => {
    const oldest = chunks.shift();
    if (oldest === undefined) return;
    dropped += 1;
    records -= oldest.count;
    sealedBytes -= oldest.bytes;
    // Requests end in a different order than they arrive. All that arrived after the last dropped one are still here.
    coveredSince = Math.max(coveredSince, oldest.latest);
  };
  const open = (): RecordChunk => {
    const last = chunks.at(-1);
    if (last !== undefined && !isSealed) {
      if (!last.isFull) return last;
      last.seal();
      sealedBytes += last.bytes;
    }
    const made = new RecordChunk();
    chunks.push(made);
    isSealed = false;
    return made;
  };
  const bytes = (): number => sealedBytes + (isSealed ? 0 : (chunks.at(-1)?.bytes ?? 0));
  const keepWithin = (): void => {
    while (chunks.length > 1 && (records > maxRecords + CHUNK_ROWS || bytes() > maxBytes)) dropOldest();
  };
  /** Adds a chunk without reading its rows. */
  const addWhole = (packed: PackedChunk): void => {
    const last = chunks.at(-1);
    if (last !== undefined) {
      if (!isSealed) last.seal();
      if (!isSealed) sealedBytes += last.bytes;
    }
    const chunk = RecordChunk.of(packed);
    chunks.push(chunk);
    isSealed = true;
    sealedBytes += chunk.bytes;
    records += chunk.count;
    keepWithin();
  };
  const add = (request: RecordedRequest): void => {
    open().add(request);
    records += 1;
    keepWithin();
  };
  return {
    add,
    take(chunk) {
      if (2 * chunk.count >= CHUNK_ROWS) addWhole(chunk);
      else for (const request of unpack(chunk)) add(request);
    },
    read: (from = 0) =>
      chunks.flatMap((chunk, at) => {
        const number = dropped + at;
        return number < from ? [] : [{ number, chunk: chunk.pack() }];
      }),
    since: () => coveredSince,
    bytes,
  };
}
