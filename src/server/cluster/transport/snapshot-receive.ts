/**
 * Receives one snapshot at a time. A newer one, or the same from another leader, replaces the current transfer. Source: cluster
 * reference, section 2.9.
 *
 * Frames of all links are handled one after the other, so a file is never written by two at once.
 */

import { createSemaphore } from "../../../base/index.ts";
import type { Message } from "../../core/raft/index.ts";
import type { SnapshotRecord } from "../storage/types.ts";
import { type Frame, KIND, type Link, type LinkHandlers, WireError } from "../wire/index.ts";
import { createPartialFile, type PartialFile } from "./partial-file.ts";
import {
  decodeSnapshotFrame,
  encodeAck,
  MAX_SNAPSHOT_BYTES,
  type SnapshotFrame,
  WINDOW_CHUNKS,
} from "./snapshot-frames.ts";
import type { TransportOptions } from "./types.ts";

interface SnapshotReceiver {
  handlers(link: Link): LinkHandlers;
  /** Ends the current transfer and removes the bytes that it received. */
  close(): Promise<void>;
}

type SnapshotReceiverOptions = Pick<TransportOptions, "snapshotPath" | "mayReceive" | "onSnapshotReceived" | "log"> & {
  readonly nodeId: string;
};

interface Transfer {
  readonly link: Link;
  readonly message: Message;
  readonly record: SnapshotRecord;
  readonly file: PartialFile;
}

export function createSnapshotReceiver(options: SnapshotReceiverOptions): SnapshotReceiver {
  const { snapshotPath, mayReceive, onSnapshotReceived, log, nodeId } = options;
  const mutex = createSemaphore({ permits: 1 });
  let current: Transfer | undefined;
  /** Received part of a snapshot, kept even after its transfer was interrupted. */
  let partial: PartialFile | undefined;
  let isClosed = false;

  /**
   * Runs one action after another. A fault of the disk ends the transfer, not the node; the storage itself detects an unusable
   * disk.
   */
  function enqueue(link: Link, action: () => Promise<void>): void {
    void mutex.run(async () => {
      try {
        await action();
      } catch (error) {
        if (error instanceof WireError) {
          link.close(error);
          return;
        }
        log.warn("a snapshot could not be received", { from: link.peer.id, error });
        await discard().catch(() => undefined);
        refuse(link, "failed");
      }
    });
  }

  function refuse(link: Link, code: string): void {
    link.send(encodeAck({ kind: "refused", code }));
    link.end();
    if (current?.link === link) current = undefined;
  }

  async function discard(): Promise<void> {
    const discarded = partial;
    partial = undefined;
    current = undefined;
    await discarded?.discard();
  }

  async function begin(link: Link, { message, record }: SnapshotFrame & { readonly kind: "announce" }): Promise<void> {
    if (isClosed) return;
    if (message.from !== link.peer.id || message.to !== nodeId) throw new WireError("a snapshot of another peer");
    if (record.size === 0 || record.size > MAX_SNAPSHOT_BYTES) return refuse(link, "size");
    if (current !== undefined && current.link !== link) {
      if (isOlder(message, current.message)) return refuse(link, "older");
      const superseded = current;
      await superseded.file.close();
      refuse(superseded.link, "superseded");
    } else if (current !== undefined) {
      throw new WireError("a second snapshot on one link");
    }
    if (partial !== undefined && !partial.matches(record)) await discard();
    if (!(await mayReceive(record.size - (partial?.received() ?? 0)))) return refuse(link, "no_room");
    if (!link.isOpen()) return;
    partial ??= createPartialFile(record, snapshotPath(record));
    current = { link, message, record, file: partial };
    await partial.open();
    link.send(encodeAck({ kind: "continue", offset: partial.received() }));
    if (partial.received() === record.size) await finish(current);
  }

  async function add(link: Link, chunk: SnapshotFrame & { readonly kind: "chunk" }): Promise<void> {
    if (current?.link !== link) return;
    const transfer = current;
    const { file, record } = transfer;
    if (!chunk.isIntact) return abandon(transfer, "corrupt_chunk");
    if (chunk.offset !== file.received() || chunk.offset + chunk.bytes.length > record.size) {
      return abandon(transfer, "wrong_offset");
    }
    await file.append(chunk.bytes);
    link.send(encodeAck({ kind: "continue", offset: file.received() }));
    if (file.received() === record.size) await finish(transfer);
  }

  /** Refuses the transfer but keeps the received bytes for the next attempt. */
  async function abandon({ link, file }: Transfer, code: string): Promise<void> {
    await file.close();
    refuse(link, code);
  }

  async function finish({ link, message, record, file }: Transfer): Promise<void> {
    if (!(await file.finish())) {
      await discard();
      return refuse(link, "wrong_digest");
    }
    partial = undefined;
    current = undefined;
    log.info("received a snapshot", { from: link.peer.id, index: record.index, term: record.term, bytes: record.size });
    onSnapshotReceived(message, record);
    link.send(encodeAck({ kind: "done" }));
  }

  return {
    handlers(link) {
      let waiting = 0;
      return {
        onFrame({ kind, payload }: Frame) {
          if (kind !== KIND.snapChunk) throw new WireError("a frame that belongs to no snapshot");
          const frame = decodeSnapshotFrame(payload);
          if (waiting > WINDOW_CHUNKS) throw new WireError("more chunks than were asked for");
          waiting += 1;
          enqueue(link, async () => {
            waiting -= 1;
            await (frame.kind === "announce" ? begin(link, frame) : add(link, frame));
          });
        },
        onEnd() {
          enqueue(link, async () => {
            if (current?.link !== link) return;
            const { file } = current;
            current = undefined;
            await file.close();
          });
        },
      };
    },
    async close() {
      isClosed = true;
      await mutex
        .run(discard)
        .catch((error: unknown) => log.warn("a partial snapshot could not be removed", { error }));
    },
  };
}

/** Returns whether `message` is older. A later leader's snapshot is newer, whatever its index. */
function isOlder(message: Message, than: Message): boolean {
  if (message.term !== than.term) return message.term < than.term;
  const [a, b] = [message.snapshot, than.snapshot];
  if (a === undefined || b === undefined) return false;
  return a.term !== b.term ? a.term < b.term : a.index < b.index;
}
