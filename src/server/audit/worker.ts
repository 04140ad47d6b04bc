/** Audit worker: a thread that signs, journals and emits records, and sends the messages of `audit-worker-protocol.ts`. */

import { type MessagePort, receiveMessageOnPort } from "node:worker_threads";
import { threadCaller } from "../../base/index.ts";
import { AuditError } from "./audit-error.ts";
import type { FromWorker, ToWorker } from "./audit-worker-protocol.ts";
import { type AuditWriter, openWriter } from "./audit-writer.ts";
import type { FedRecords } from "./types.ts";

const main = threadCaller<ToWorker, readonly FromWorker[]>();
let writer: AuditWriter | undefined;
let queuedMessages: FromWorker[] = [];
const feeds: MessagePort[] = [];

/** Queues a message. Messages of one turn are sent together, since each one wakes the main thread. */
function queueMessage(message: FromWorker): void {
  queuedMessages.push(message);
  if (queuedMessages.length === 1) queueMicrotask(sendQueued);
}

function sendQueued(): void {
  if (queuedMessages.length > 0) main.post(queuedMessages);
  queuedMessages = [];
}

function fail(error: unknown): void {
  const code = error instanceof AuditError ? error.code : "worker";
  queueMessage({ kind: "fault", code, message: error instanceof Error ? error.message : String(error) });
}

main.onMessage((message) => {
  switch (message.kind) {
    case "start":
      openWriter(message.options, queueMessage, fail).then((opened) => {
        writer = opened;
      }, fail);
      return;
    case "append":
      writer?.append(message.texts, message.times, true);
      return;
    case "feed":
      feeds.push(message.port);
      message.port.on("message", appendFed);
      return;
    case "close":
      void close(message.now, message.timeoutMs);
      return;
    default:
      message satisfies never;
  }
});

function appendFed({ texts, times }: FedRecords): void {
  writer?.append(texts, times, false);
}

async function close(at: number, timeoutMs: number): Promise<void> {
  for (const feed of feeds) {
    for (let fed = receiveMessageOnPort(feed); fed !== undefined; fed = receiveMessageOnPort(feed))
      appendFed(fed.message);
    feed.close();
  }
  try {
    const remaining = (await writer?.close(at, timeoutMs)) ?? 0;
    queueMessage({ kind: "closed", remaining });
  } catch (error) {
    fail(error);
  }
  sendQueued();
  main.close();
}
