/** Sends records of a worker's requests to the node, packed and after a short delay. */
import { type PackedChunk, RecordChunk, type RecordStore } from "../../core/rehearsal/index.ts";
import type { DecisionSink } from "../../dataplane/index.ts";
import type { Channel } from "../channel/index.ts";

const FLUSH_INTERVAL_MS = 500;

/**
 * Returns a sink that sends full chunks immediately, and the current one after a short delay or when the node asks for everything
 * (`catchUp`).
 */
export function sendRequestRecords(channel: Channel): DecisionSink {
  let chunk = new RecordChunk();
  let timer: NodeJS.Timeout | undefined;
  const flush = (): void => {
    clearTimeout(timer);
    timer = undefined;
    if (chunk.count === 0) return;
    channel.send("decisions", encodeChunk(chunk.pack()));
    chunk = new RecordChunk();
  };
  channel.on("flush", flush);
  return {
    record(request) {
      chunk.add(request);
      if (chunk.isFull) flush();
      else timer ??= setTimeout(flush, FLUSH_INTERVAL_MS).unref();
    },
  };
}

export function takeRequestRecords(channel: Channel, store: Pick<RecordStore, "take"> | undefined): void {
  channel.on("decisions", (body) => store?.take(decodeChunk(body as JsonChunk)));
}

/** Chunk whose rows are in base64. */
export interface JsonChunk extends Omit<PackedChunk, "rows"> {
  readonly rows: string;
}

export const encodeChunk = ({ count, rows, texts }: PackedChunk): JsonChunk => ({
  count,
  rows: Buffer.from(rows.buffer, rows.byteOffset, rows.byteLength).toString("base64"),
  texts,
});

export const decodeChunk = ({ count, rows, texts }: JsonChunk): PackedChunk => ({
  count,
  rows: Buffer.from(rows, "base64"),
  texts,
});
