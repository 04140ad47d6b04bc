/**
 * Outbound side of one peer: a queue of messages, a connection that is dialed again whenever it breaks, and its status.
 * Source: cluster reference, section 4.1.
 *
 * Consensus tolerates loss, so messages are not kept for long: those that do not fit into the queue, and those of a broken
 * connection, are dropped and the core is notified. Messages queued in one turn of the event loop leave in one write.
 */

import type { Log } from "../../../base/index.ts";
import type { Message } from "../../core/raft/index.ts";
import type { Identity } from "../identity/index.ts";
import {
  DialError,
  dial,
  encodeBatch,
  encodeFrame,
  encodeJson,
  encodeMessage,
  entriesBytes,
  KIND,
  type Link,
  type Pulse,
  type SelfDescription,
  type Timing,
  WireError,
} from "../wire/index.ts";
import type { PeerConnection } from "./types.ts";

interface OutboundOptions {
  readonly id: string;
  readonly raftAddr: string;
  readonly identity: Identity;
  readonly self: SelfDescription;
  readonly log: Log;
  readonly timing: Timing;
  onUnreachable(peerId: string): void;
  /** Called when the peer refuses this node, with a code. */
  onRefused(code: string, peerId: string): void;
  readonly pulse: Pulse;
}

export interface Outbound {
  readonly raftAddr: string;
  send(message: Message): void;
  sendRemoved(index: number): void;
  connection(): PeerConnection;
  /** Closes the connection, after sending what is queued if it is up. */
  close(): void;
}

const MAX_QUEUE_BYTES = 4 * 1024 * 1024;
/** Maximum size of a frame that carries several messages; a longer message is sent alone. */
const MAX_BATCH_BYTES = 1024 * 1024;
const MIN_DELAY_MS = 100;
const MAX_DELAY_MS = 3_000;

export function createOutbound(options: OutboundOptions): Outbound {
  const { id, raftAddr, identity, self, log, timing, onUnreachable } = options;
  const stop = new AbortController();
  let link: Link | undefined;
  let messages: Buffer[] = [];
  let messageBytes = 0;
  let removedAt: number | undefined;
  let isFlushing = false;
  let isOverflowing = false;
  let isDialing = false;
  let failures = 0;
  let state: PeerConnection["state"] = "connecting";
  let lastError: PeerConnection["error"];
  let stopTimer = () => {};

  function connect(): void {
    // A peer that failed before stays "down" in the status during the new attempt; only its queue opens.
    if (lastError === undefined) state = "connecting";
    isDialing = true;
    dial({
      address: raftAddr,
      identity,
      self,
      purpose: "raft",
      to: id,
      signal: stop.signal,
      timing,
      onLink: (opened) => {
        isDialing = false;
        link = opened;
        state = "up";
        log.info("connected to a peer", { peer: id, address: raftAddr });
        lastError = undefined;
        const stopProofTimer = timing.after(MAX_DELAY_MS, () => {
          failures = 0;
        });
        flush();
        return {
          onFrame: ({ kind }) => {
            throw new WireError(`a frame of kind ${kind} where none is expected`);
          },
          pulse: options.pulse,
          onEnd: (error) => {
            stopProofTimer();
            link = undefined;
            fail(error ?? new Error("the connection was closed"));
          },
        };
      },
    }).catch(fail);
  }

  function fail(reason: unknown): void {
    isDialing = false;
    if (stop.signal.aborted) return;
    const error = reason instanceof Error ? reason : new Error(String(reason));
    const code = error instanceof DialError ? error.code : "broken";
    if (lastError?.code !== code) log.warn("no connection to a peer", { peer: id, address: raftAddr, code, error });
    lastError = { code, message: error.message };
    state = "down";
    messages = [];
    messageBytes = 0;
    onUnreachable(id);
    if (error instanceof DialError && error.isRefusedByPeer) options.onRefused(code, id);
    const limit = Math.min(MAX_DELAY_MS, MIN_DELAY_MS * 2 ** failures);
    failures = Math.min(failures + 1, 10);
    stopTimer = timing.after(limit * (0.5 + timing.random() / 2), connect);
  }

  function drop(): void {
    if (!isOverflowing) onUnreachable(id);
    isOverflowing = true;
  }

  function scheduleFlush(): void {
    if (isFlushing) return;
    isFlushing = true;
    queueMicrotask(() => {
      isFlushing = false;
      flush();
    });
  }

  function flush(): void {
    if (link === undefined) return;
    const frames = encodeBatches(messages);
    if (removedAt !== undefined) frames.push(encodeFrame({ kind: KIND.removed }, encodeJson({ index: removedAt })));
    messages = [];
    messageBytes = 0;
    removedAt = undefined;
    if (frames.length > 0) link.send(...frames);
  }

  connect();
  return {
    raftAddr,
    send(message) {
      if (link === undefined && !isDialing) return drop();
      // The queue is checked before encoding, so that dropped messages cost no copy; a peer may not read for a long time.
      const queued = messageBytes + (link?.queuedBytes() ?? 0);
      if (queued + entriesBytes(message) > MAX_QUEUE_BYTES) return drop();
      const encoded = encodeMessage(message);
      isOverflowing = false;
      messages.push(encoded);
      messageBytes += encoded.length;
      scheduleFlush();
    },
    sendRemoved(index) {
      removedAt = index;
      scheduleFlush();
    },
    connection: () => ({ id, state, error: lastError }),
    close() {
      if (stop.signal.aborted) return;
      flush();
      stop.abort(new Error("the peer was removed"));
      stopTimer();
      link?.end();
    },
  };
}

/** Encodes messages as frames, in order. Consecutive messages share a frame up to its maximum size. */
function encodeBatches(messages: readonly Buffer[]): Buffer[] {
  const frames: Buffer[] = [];
  let batch: Buffer[] = [];
  let bytes = 0;
  const seal = (): void => {
    const [only] = batch;
    if (only === undefined) return;
    frames.push(
      batch.length === 1
        ? encodeFrame({ kind: KIND.raft }, only)
        : encodeFrame({ kind: KIND.raftBatch }, encodeBatch(batch)),
    );
    batch = [];
    bytes = 0;
  };
  for (const message of messages) {
    if (bytes + message.length > MAX_BATCH_BYTES) seal();
    batch.push(message);
    bytes += message.length;
  }
  seal();
  return frames;
}
