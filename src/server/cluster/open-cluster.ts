/**
 * Cluster on the main thread: starts the raft worker, follows the changes that it applies, and passes requests to it.
 *
 * Interface: `types.ts`. The worker's messages arrive in order, so the view has the effect of a write before its answer arrives.
 */

import { randomBytes } from "node:crypto";
import { clockFrom, type Log, openThread, withResolvers } from "../../base/index.ts";
import { type CommandResult, encodeCommand, levelIn, MAX_COMMAND_BYTES } from "../core/state/index.ts";
import { ClusterError, clusterErrorOf } from "./cluster-error.ts";
import type { Ask, FromWorker, SavedSnapshot, ToWorker } from "./raft-worker-protocol.ts";
import { type ArchiveMeta, writeArchive } from "./snapshots/archive.ts";
import { createRestore } from "./snapshots/restore-archive.ts";
import { createView } from "./state-view.ts";
import { StorageError, type StorageErrorCode } from "./storage-error.ts";
import type { Cluster, ClusterOptions, ClusterStatus } from "./types.ts";

/**
 * Maximum number of concurrent writes. It is less than the number of results that the state machine keeps for a client, so that
 * every retry finds its result.
 */
const MAX_CONCURRENT_WRITES = 1_000;

/** Maximum timeout of a request to the cluster, in milliseconds: that of a restore. */
const MAX_TIMEOUT_MS = 600_000;

/**
 * Time until the worker's first message, in milliseconds. Opening the storage may take longer, and admission as long as the
 * caller waits.
 */
const START_LIMIT_MS = 60_000;

/** Time after which a worker that does not end is terminated, in milliseconds. */
const CLOSE_LIMIT_MS = 15_000;

/**
 * Limits of the worker thread, in MiB. It has few short-lived objects; with Node's default, three times as many would accumulate
 * before they are collected.
 */
const THREAD_OPTIONS = { resourceLimits: { maxYoungGenerationSizeMb: 16 } };

const MODULE = {
  source: new URL("./worker.ts", import.meta.url),
  built: new URL("./server/cluster/worker.js", import.meta.url),
};

export interface OpenClusterOptions extends ClusterOptions {
  readonly log: Log;
  /** Called with the seconds of each durable write of the log, for metrics. */
  readonly onTiming?: (fsyncSeconds: readonly number[]) => void;
  /** Called with the seconds from a write on this node to its effect here. */
  readonly onWritten?: (seconds: number) => void;
  /** Returns whether this node can open a data key of the keyring row. Restoring an archive is refused otherwise. */
  readonly canOpenRing?: (row: string) => boolean;
}

interface PendingAsk {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

/**
 * Opens the cluster node. Resolves once storage and listeners are open and `view` has the state of the disk; for a joining
 * node, once it was admitted. Rejects with a `StorageError`, a `ClusterError` or the error of a listener.
 */
export async function openCluster(options: OpenClusterOptions, signal?: AbortSignal): Promise<Cluster> {
  const { log, onTiming, onWritten, canOpenRing, ...plain } = options;
  signal?.throwIfAborted();
  const followed = createView((error) => log.error("a listener for state changes failed", { error }));
  const pendingAsks = new Map<number, PendingAsk>();
  const statusListeners = new Set<(status: ClusterStatus) => void>();
  const clientId = randomBytes(16).toString("hex");
  let status: ClusterStatus | undefined;
  let lastAsk = 0;
  let lastSequence = 0;
  let isClosing = false;
  let fault: Error | undefined;
  let concurrentWrites = 0;
  let logNow = 0;

  const failAll = (error: Error): void => {
    for (const { reject } of pendingAsks.values()) reject(error);
    pendingAsks.clear();
  };

  const started = withResolvers();
  const ended = withResolvers<Error | undefined>();
  const onEnd = (error: Error | undefined): void => {
    fault ??= error;
    if (fault === undefined && !isClosing) fault = new Error("the raft worker ended unexpectedly");
    const end = fault ?? new ClusterError("no_leader", "the cluster is closed");
    failAll(fault === undefined ? end : stoppingError("unknown", "it may still be applied", fault));
    started.reject(end);
    ended.resolve(fault);
  };

  const receive = (message: FromWorker): void => {
    switch (message.kind) {
      case "started":
        for (const warning of message.warnings) log.warn(warning);
        started.resolve();
        return;
      case "applied":
        logNow = message.now;
        followed.follow(message.mutations, message.index);
        return;
      case "replace-begin":
        followed.beginReplace();
        return;
      case "replace-rows":
        followed.add(message.rows);
        setImmediate(() => queueMessage({ kind: "took" }));
        return;
      case "replace-end":
        logNow = message.now;
        followed.endReplace(message.index);
        return;
      case "status":
        status = message.status;
        for (const listener of [...statusListeners]) listener(message.status);
        return;
      case "question":
        void reply(message.id, message.question);
        return;
      case "answer":
        pendingAsks.get(message.id)?.resolve(message.value);
        pendingAsks.delete(message.id);
        return;
      case "failure":
        pendingAsks.get(message.id)?.reject(clusterErrorOf(message.failure));
        pendingAsks.delete(message.id);
        return;
      case "log":
        log[message.level](message.message, message.fields);
        return;
      case "timing":
        onTiming?.(message.fsyncSeconds);
        return;
      case "fault":
        fault = faultOf(message);
        void worker.terminate();
        return;
      default:
        message satisfies never;
    }
  };
  const worker = openThread<readonly ToWorker[], readonly FromWorker[]>(MODULE, THREAD_OPTIONS, {
    onMessage(messages) {
      for (const message of messages) receive(message);
    },
    onEnd,
  });

  const questionHandlers: ((question: unknown) => Promise<Uint8Array | undefined>)[] = [];
  const reply = async (id: number, question: unknown): Promise<void> => {
    let body: Uint8Array | undefined;
    try {
      for (const answer of questionHandlers) {
        body = await answer(question);
        if (body !== undefined) break;
      }
    } catch (error) {
      log.error("a query of another node was not answered", { error });
    }
    queueMessage({ kind: "reply", id, body });
  };

  let queuedMessages: ToWorker[] = [];
  /** Posts all requests of one turn of the event loop in one message, so that they reach the log together. */
  const queueMessage = (message: ToWorker): void => {
    queuedMessages.push(message);
    if (queuedMessages.length > 1) return;
    setImmediate(() => {
      const messages = queuedMessages;
      queuedMessages = [];
      worker.post(messages);
    });
  };

  const ask = (what: Ask, aborted?: AbortSignal): Promise<unknown> => {
    if (fault !== undefined) return Promise.reject(stoppingError("not-applied", "use another node", fault));
    if (isClosing && what.kind !== "close") {
      return Promise.reject(new ClusterError("no_leader", "the gateway is stopping"));
    }
    aborted?.throwIfAborted();
    lastAsk += 1;
    const id = lastAsk;
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        pendingAsks.delete(id);
        queueMessage({ kind: "forget", id });
        reject(aborted?.reason);
      };
      aborted?.addEventListener("abort", onAbort, { once: true });
      const release = (): void => aborted?.removeEventListener("abort", onAbort);
      pendingAsks.set(id, {
        resolve: (value) => {
          release();
          resolve(value);
        },
        reject: (error) => {
          release();
          reject(error);
        },
      });
      queueMessage({ kind: "ask", id, ask: what });
    });
  };

  const write: Cluster["write"] = async (command, options) => {
    const { by, timeoutMs, signal: aborted, idempotency, waitsForApply = true } = options;
    if (concurrentWrites >= MAX_CONCURRENT_WRITES)
      throw new ClusterError("busy", "too many writes are in progress: try again");
    lastSequence += 1;
    const encoded = encodeCommand({
      v: 1,
      t: command.t,
      id: `${clientId.slice(0, 8)}-${lastSequence}`,
      c: clientId,
      s: lastSequence,
      by,
      ...(idempotency !== undefined && { k: idempotency.key, kd: idempotency.digest }),
      p: command.p,
    });
    if (encoded.length > MAX_COMMAND_BYTES) {
      throw new ClusterError(
        "entry_too_large",
        `a write can have at most ${MAX_COMMAND_BYTES} bytes, but this one has ${encoded.length}`,
      );
    }
    concurrentWrites += 1;
    const begunAt = performance.now();
    try {
      const asked: Ask = { kind: "write", command: encoded, timeoutMs: clampTimeout(timeoutMs), waitsForApply };
      const result = (await ask(asked, aborted)) as CommandResult;
      onWritten?.((performance.now() - begunAt) / 1_000);
      return result;
    } finally {
      concurrentWrites -= 1;
    }
  };

  const dataDir = (): string => {
    if (plain.dataDir !== undefined) return plain.dataDir;
    const reason = "this node keeps its state in memory, so it cannot save or restore snapshots";
    throw new ClusterError("refused", `${reason}; give it a \`cluster.data_dir\``);
  };

  const cluster: Cluster = {
    view: followed.view,
    logNow: () => logNow,
    clock: clockFrom(() => status?.time.originMs),
    status() {
      if (status === undefined) throw new Error("the cluster has not started");
      return status;
    },
    onStatus(listener) {
      statusListeners.add(listener);
      return () => statusListeners.delete(listener);
    },
    write,
    async readBarrier({ timeoutMs, signal: aborted }) {
      await ask({ kind: "read-barrier", timeoutMs: clampTimeout(timeoutMs) }, aborted);
    },
    async prune(keep, { timeoutMs, signal: aborted }) {
      await ask({ kind: "prune", keep, timeoutMs: clampTimeout(timeoutMs) }, aborted);
    },
    async remove(id, { timeoutMs, signal: aborted }) {
      await ask({ kind: "remove", id, timeoutMs: clampTimeout(timeoutMs) }, aborted);
    },
    async transferLeader(to, { timeoutMs, signal: aborted }) {
      return (await ask({ kind: "transfer", to, timeoutMs: clampTimeout(timeoutMs) }, aborted)) as string;
    },
    async saveSnapshot({ stale, signal: aborted }) {
      dataDir();
      const saved = (await ask({ kind: "save-snapshot", isStaleAllowed: stale }, aborted)) as SavedSnapshot;
      const meta: ArchiveMeta = { ...saved.meta, created_at: new Date().toISOString() };
      return { info: saved.info, archive: writeArchive(meta, saved.path, saved.sha256) };
    },
    restore: createRestore({ dataDir, write, canOpenRing, featureLevel: () => levelIn(followed.view) }),
    async askMember(id, question, { timeoutMs, signal: aborted }) {
      try {
        const asked: Ask = { kind: "ask-member", id, question, timeoutMs: clampTimeout(timeoutMs) };
        return (await ask(asked, aborted)) as Uint8Array | undefined;
      } catch {
        aborted.throwIfAborted();
        return undefined; // a failure of this node's worker counts as no answer
      }
    },
    onQuestion(answer) {
      questionHandlers.push(answer);
    },
    async handOver(aborted) {
      await ask({ kind: "hand-over" }, aborted);
    },
    async ping(aborted) {
      await ask({ kind: "ping" }, aborted);
    },
    ended: ended.promise,
    async close() {
      if (isClosing) {
        await ended.promise;
        return;
      }
      isClosing = true;
      const limit = setTimeout(() => void worker.terminate(), CLOSE_LIMIT_MS);
      try {
        await Promise.race([ask({ kind: "close" }).catch(() => undefined), ended.promise]);
        await worker.terminate();
        await ended.promise;
      } finally {
        clearTimeout(limit);
      }
    },
  };

  const onAbort = (): void => void worker.terminate();
  signal?.addEventListener("abort", onAbort, { once: true });
  const limit = setTimeout(() => {
    fault ??= new Error(
      `the raft worker did not answer within ${START_LIMIT_MS / 1_000} s: check that this machine has enough processor time and memory, and start again`,
    );
    void worker.terminate();
  }, START_LIMIT_MS);
  const stopLimit = (): void => clearTimeout(limit);
  try {
    queueMessage({ kind: "start", options: plain });
    // A node that is starting refuses a read barrier at once. Any answer shows that the worker is alive.
    void ask({ kind: "read-barrier", timeoutMs: 1 }).then(stopLimit, stopLimit);
    await started.promise;
  } catch (error) {
    await worker.terminate();
    await ended.promise;
    signal?.throwIfAborted();
    throw fault ?? error;
  } finally {
    signal?.removeEventListener("abort", onAbort);
  }
  return cluster;
}

function clampTimeout(timeoutMs: number): number {
  return Math.min(Math.max(1, timeoutMs), MAX_TIMEOUT_MS);
}

/** Returns the error for waiting callers: the cause is in the node's log, and their requests may still be carried out. */
function stoppingError(outcome: "unknown" | "not-applied", what: string, cause: Error): ClusterError {
  return new ClusterError("no_leader", `this node is stopping after an error, which is in its log; ${what}`, {
    details: { outcome },
    cause,
  });
}

function faultOf({ name, failure }: Extract<FromWorker, { kind: "fault" }>): Error {
  if (name === "StorageError") return new StorageError(failure.code as StorageErrorCode, failure.message);
  if (name === "ClusterError") return clusterErrorOf(failure);
  return Object.assign(new Error(failure.message), { name, code: failure.code });
}
