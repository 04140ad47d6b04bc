/** Records of the last requests of a node, within a number and a bound of memory. */
import { CHUNK_ROWS, type PackedChunk, RecordChunk, unpack } from "./record-chunk.ts";
import type { RecordedRequest } from "./recorded-request.ts";

/** Requests that a node keeps records of. */
export const KEPT_RECORDS = 20_000;
/** Bytes: default of `GATEWAY_REHEARSAL_MEMORY`. */
export const DEFAULT_RECORD_BYTES = 64 << 20;

export interface RecordStore {
  add(request: RecordedRequest): void;
  /** Adds what another process of the node recorded. */
  take(chunk: PackedChunk): void;
  /** Chunks from number `from` on, which grows by one a chunk; those that were dropped are left out. Oldest first. */
  read(from?: number): readonly { readonly number: number; readonly chunk: PackedChunk }[];
  /** Time since which each request that has ended is kept, in milliseconds since 1970. */
  since(): number;
  bytes(): number;
}

/** `startedAt`: when the first request may have come, in milliseconds since 1970. */
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
    // Requests end in another order than they came: of those that came after the last one that is gone, all are here.
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
  /** Without reading its rows. */
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
