/** Sends records of a worker's requests to the node, packed and after a short delay. */
import { type PackedChunk, RecordChunk, type RecordStore } from "../../core/rehearsal/index.ts";
import type { DecisionSink } from "../../dataplane/index.ts";
import type { Channel } from "../channel/index.ts";

const EVERY_MS = 500;

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
    channel.send("decisions", asJson(chunk.pack()));
    chunk = new RecordChunk();
  };
  channel.on("tell", flush);
  return {
    decided(request) {
      chunk.add(request);
      if (chunk.isFull) flush();
      else timer ??= setTimeout(flush, EVERY_MS).unref();
    },
  };
}

export function takeRequestRecords(channel: Channel, store: Pick<RecordStore, "take"> | undefined): void {
  channel.on("decisions", (body) => store?.take(fromJson(body as JsonChunk)));
}

/** Chunk whose rows are in base64. */
export interface JsonChunk extends Omit<PackedChunk, "rows"> {
  readonly rows: string;
}

export const asJson = ({ count, rows, texts }: PackedChunk): JsonChunk => ({
  count,
  rows: Buffer.from(rows.buffer, rows.byteOffset, rows.byteLength).toString("base64"),
  texts,
});

export const fromJson = ({ count, rows, texts }: JsonChunk): PackedChunk => ({
  count,
  rows: Buffer.from(rows, "base64"),
  texts,
});
