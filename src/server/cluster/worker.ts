/**
 * Raft worker: a separate thread, so that a busy data plane does not depose a leader. It sends the messages of
 * `raft-worker-protocol.ts` and writes nothing to stdout or stderr.
 */

import { type Log, type LogLevel, threadCaller } from "../../base/index.ts";
import { ClusterError } from "./cluster-error.ts";
import type { Ask, Failure, FromWorker, ToWorker } from "./raft-worker-protocol.ts";
import { createPeerQueries } from "./requests/peer-queries.ts";
import { type StartedReplica, startReplica } from "./start-replica.ts";

const main = threadCaller<readonly ToWorker[], readonly FromWorker[]>();
const stop = new AbortController();
let queuedMessages: FromWorker[] = [];
/** Running asks; false if the caller no longer waits for the answer. */
const runningAsks = new Map<number, boolean>();
let started: StartedReplica | undefined;

const logAt =
  (level: LogLevel) =>
  (message: string, fields: Readonly<Record<string, unknown>> = {}): void =>
    queueMessage({ kind: "log", level, message, fields: withErrorMessages(fields) });
const log: Log = { debug: logAt("debug"), info: logAt("info"), warn: logAt("warn"), error: logAt("error") };

const questions = createPeerQueries((id, question) => queueMessage({ kind: "question", id, question }));

main.onMessage((messages) => {
  const replica = started?.replica;
  const handleAll = (): void => {
    for (const message of messages) handleMessage(message);
  };
  if (replica === undefined) handleAll();
  else replica.batch(handleAll);
});

function handleMessage(message: ToWorker): void {
  switch (message.kind) {
    case "start":
      void start(message);
      return;
    case "ask":
      void answer(message.id, message.ask);
      return;
    case "forget":
      if (runningAsks.has(message.id)) runningAsks.set(message.id, false);
      return;
    case "reply":
      questions.settle(message.id, message.body);
      return;
    case "took":
      isHeldBack = false;
      sendQueued();
      return;
    default:
      message satisfies never;
  }
}

/** Sends all messages of one turn of the event loop together, such as the answers of a batch: each send wakes the main thread. */
function queueMessage(message: FromWorker): void {
  queuedMessages.push(message);
  if (queuedMessages.length === 1) queueMicrotask(sendQueued);
}

/** Whether a slice of a whole state is unacknowledged. The next slice, and all messages after it, then wait. */
let isHeldBack = false;

function sendQueued(): void {
  if (queuedMessages.length === 0 || isHeldBack) return;
  const slice = queuedMessages.findIndex(({ kind }) => kind === "replace-rows");
  const messages = slice < 0 ? queuedMessages : queuedMessages.slice(0, slice + 1);
  queuedMessages = slice < 0 ? [] : queuedMessages.slice(slice + 1);
  isHeldBack = slice >= 0;
  main.post(messages);
}

/** Sends everything that is left, including messages that wait behind a slice, and closes the port. */
function sendLast(): void {
  if (queuedMessages.length > 0) main.post(queuedMessages);
  queuedMessages = [];
  main.close();
}

async function start({ options }: Extract<ToWorker, { kind: "start" }>): Promise<void> {
  try {
    started = await startReplica(
      options,
      {
        log,
        onApplied: (mutations, index, now) => queueMessage({ kind: "applied", index, now, mutations }),
        onReplaced(slices, index, now) {
          queueMessage({ kind: "replace-begin" });
          for (const rows of slices) queueMessage({ kind: "replace-rows", rows });
          queueMessage({ kind: "replace-end", index, now });
        },
        onStatus: (status) => queueMessage({ kind: "status", status }),
        onTiming: (fsyncSeconds) => queueMessage({ kind: "timing", fsyncSeconds }),
        onQuestion: questions.ask,
        onFault: fail,
      },
      stop.signal,
    );
    queueMessage({ kind: "started", clusterId: started.clusterId, warnings: started.warnings });
  } catch (error) {
    fail(error);
  }
}

/** Reports a fault. The main thread ends this thread after reading it. */
function fail(error: unknown): void {
  const name = error instanceof Error ? error.name : "Error";
  queueMessage({ kind: "fault", name, failure: failureOf(error) });
  sendLast();
}

async function answer(id: number, ask: Ask): Promise<void> {
  runningAsks.set(id, true);
  try {
    const value = await perform(ask);
    // The rows of a write are sent before its answer.
    started?.replica.flush();
    if (runningAsks.get(id) === true) queueMessage({ kind: "answer", id, value });
    if (ask.kind === "close") sendLast();
  } catch (error) {
    if (runningAsks.get(id) === true) queueMessage({ kind: "failure", id, failure: failureOf(error) });
  } finally {
    runningAsks.delete(id);
  }
}

async function perform(ask: Ask): Promise<unknown> {
  if (ask.kind === "close") {
    stop.abort();
    await started?.close();
    return undefined;
  }
  const replica = started?.replica;
  if (replica === undefined) throw new ClusterError("no_leader", "the node is still starting");
  switch (ask.kind) {
    case "write":
      return await replica.write(ask.command, ask.timeoutMs, ask.waitsForApply);
    case "read-barrier":
      return await replica.readBarrier(ask.timeoutMs);
    case "prune":
      return await replica.prune(ask.keep, ask.timeoutMs);
    case "remove":
      return await replica.remove(ask.id, ask.timeoutMs);
    case "transfer":
      return await replica.transfer(ask.to, ask.timeoutMs);
    case "ask-member":
      return await replica.askMember(ask.id, ask.question, ask.timeoutMs);
    case "save-snapshot":
      return await replica.saveSnapshot(ask.isStaleAllowed);
    case "hand-over":
      return await replica.handOver();
    case "ping":
      return undefined;
    default:
      return ask satisfies never;
  }
}

function failureOf(error: unknown): Failure {
  if (!(error instanceof Error)) return { code: "internal", message: String(error) };
  const { details, cause } = error as Error & { details?: Readonly<Record<string, unknown>> };
  // An error that names the listener has the system's error as its cause.
  const code = codeOf(error) ?? codeOf(cause);
  return {
    code: typeof code === "string" ? code : "internal",
    message: error.message,
    ...(details !== undefined && { details }),
  };
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}

/** Replaces errors by their messages, since errors lose their fields when they cross threads. */
function withErrorMessages(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(fields).map(([key, value]) => [key, value instanceof Error ? value.message : value]),
  );
}
