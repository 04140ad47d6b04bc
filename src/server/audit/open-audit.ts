/**
 * Audit trail on the main thread: counts queued events, passes them to the worker, and follows which ones are on disk
 * and emitted. Interface: `types.ts`.
 *
 * An event costs the caller its canonical text. Events are gathered for `GROUP_MS` or up to `GROUP_EVENTS`, which makes
 * one message, one sync and one answer; a group with an awaited event is sent at once. The queue counts events from
 * `append` until they are emitted, so a blocked reader leads to `audit_unavailable` and never to unlimited memory.
 */

import { MessageChannel } from "node:worker_threads";
import { GatewayError, type Instruments, type Log, openThread, type Thread } from "../../base/index.ts";
import { AuditError } from "./audit-error.ts";
import { openQueue, RECORD_OVERHEAD_BYTES } from "./audit-queue.ts";
import { MAX_RECORD_BYTES } from "./audit-record.ts";
import { type FromWorker, THREAD_OPTIONS, type ToWorker } from "./audit-worker-protocol.ts";
import { eventText } from "./fit-event.ts";
import { createAuditMetrics } from "./metrics.ts";
import { createRecentRecords, parseRecords } from "./recent-records.ts";
import type { AuditEvent, AuditHead, AuditOptions, AuditTrail } from "./types.ts";
import { createWitness, type Witness } from "./witness.ts";

const RESERVATION_BYTES = MAX_RECORD_BYTES + RECORD_OVERHEAD_BYTES;

/**
 * Timeout of a start. Loading the worker and reading the journal take a fraction of a second, but much longer on an
 * overloaded machine.
 */
const START_LIMIT_MS = 60_000;
/** Limits of a group. A hundred syncs a second leave the disk to the raft log, and each message wakes two threads. */
const GROUP_MS = 10;
const GROUP_EVENTS = 256;

/** Time that the output may take for queued records on close; the rest stays in the journal. A stop waits for it. */
const DRAIN_LIMIT_MS = 1_000;
/** Timeout of the close. A worker that hangs in a write is abandoned, since ending it would hang as well. */
const CLOSE_LIMIT_MS = 15_000;

const MODULE = {
  source: new URL("./worker.ts", import.meta.url),
  built: new URL("./server/audit/worker.js", import.meta.url),
};

export interface OpenAuditOptions extends AuditOptions {
  readonly log: Log;
  readonly instruments: Instruments;
  /** Returns the current time, in milliseconds since 1970. */
  readonly now?: () => number;
}

interface Waiter {
  /** Position of the awaited event: it is on disk once this many events are. */
  readonly at: number;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/**
 * Opens the trail. Resolves once the key and the first record are on disk. Rejects with an `AuditError` whose message says what
 * to do.
 */
export async function openAudit(options: OpenAuditOptions): Promise<AuditTrail> {
  const { nodeId, dir, fd, process, log, instruments, onEmitted, now = Date.now } = options;
  const queue = openQueue();
  const metrics = createAuditMetrics(instruments, () => queue.bytes);
  const recent = createRecentRecords();
  const worker = openThread<ToWorker, readonly FromWorker[]>(MODULE, THREAD_OPTIONS, {
    onMessage(messages) {
      for (const message of messages) receive(message);
    },
    onEnd(cause) {
      const reason = cause === undefined ? "ended unexpectedly" : `failed: ${cause.message}`;
      fail(new AuditError("worker", `the audit worker ${reason}`, { cause }));
    },
  });
  let texts: string[] = [];
  let times: number[] = [];
  let groupTimer: NodeJS.Timeout | undefined;
  let pushedCount = 0;
  const waiters: Waiter[] = [];
  let head: AuditHead | undefined;
  let kid: string | undefined;
  let witness: Witness | undefined;
  let fault: AuditError | undefined;
  let isClosing = false;
  let isGoneLogged = false;
  let onStarted: (error?: AuditError) => void = () => undefined;
  let onClosed: (left: number) => void = () => undefined;
  let onEnded: (error: Error) => void = () => undefined;
  const ended = new Promise<Error>((resolve) => {
    onEnded = resolve;
  });

  function send(): void {
    if (texts.length === 0) return;
    worker.post({ kind: "append", texts, times });
    texts = [];
    times = [];
    clearTimeout(groupTimer);
    groupTimer = undefined;
  }

  function receive(message: FromWorker): void {
    switch (message.kind) {
      case "started":
        for (const warning of message.warnings) log.warn(warning);
        kid = message.kid;
        recent.add(message.recent);
        witness = createWitness(options.witness, message.succeeds, metrics.witnessFailures);
        onStarted();
        return;
      case "journaled":
        metrics.journalSeconds.observe(message.seconds);
        while ((waiters[0]?.at ?? Number.POSITIVE_INFINITY) <= message.events) waiters.shift()?.resolve();
        return;
      case "emitted":
        handleEmitted(message);
        return;
      case "blocked":
        log.warn("the audit trail is waiting for its output", { code: message.code });
        return;
      case "closed":
        onClosed(message.remaining);
        return;
      case "fault":
        fail(new AuditError(message.code, message.message));
        return;
      default:
        message satisfies never;
    }
  }

  function handleEmitted({
    records,
    head: reached,
    events,
    units,
    goneCode,
  }: Extract<FromWorker, { kind: "emitted" }>): void {
    queue.release(units + events * RECORD_OVERHEAD_BYTES);
    recent.add(records);
    head = reached;
    if (goneCode !== undefined) {
      metrics.unread.inc(records.count);
      if (!isGoneLogged)
        log.warn("nobody reads the output of the audit trail; records are kept in its journal", { code: goneCode });
      isGoneLogged = true;
    }
    if (reached.kid === kid) witness?.advance(reached);
    try {
      onEmitted?.(parseRecords(records));
    } catch (error) {
      log.error("an export of the audit trail failed", { error });
    }
  }

  function fail(error: AuditError): void {
    if (fault !== undefined) return;
    fault = error;
    queue.close();
    for (const { reject } of waiters.splice(0)) reject(unavailable("The audit trail has failed.", error));
    onStarted(error);
    onClosed(0);
    if (!isClosing) onEnded(error);
  }

  /** Returns the error for new events once the trail has ended. */
  function refusal(): GatewayError | undefined {
    if (isClosing) return unavailable("The audit trail is closed.");
    return fault === undefined ? undefined : unavailable("The audit trail has failed.", fault);
  }

  /** Reserves `bytes` in the queue. Throws `audit_unavailable` if they do not fit. */
  function reserveSpace(bytes: number): void {
    if (refusal() === undefined && queue.reserve(bytes)) return;
    metrics.refused.inc();
    throw refusal() ?? unavailable("The audit queue is full.");
  }

  function push({ event }: Pick<AuditEvent, "event">, text: string, isAwaited: boolean): void {
    metrics.records[event].inc();
    texts.push(text);
    times.push(now());
    pushedCount += 1;
    if (isAwaited || texts.length === GROUP_EVENTS) setImmediate(send);
    else groupTimer ??= setTimeout(send, GROUP_MS);
  }

  const trail: AuditTrail = {
    append(event) {
      const text = eventText(event);
      reserveSpace(text.length + RECORD_OVERHEAD_BYTES);
      push(event, text, false);
    },
    reserve() {
      reserveSpace(RESERVATION_BYTES);
      let isHeld = true;
      const release = (): void => {
        if (isHeld) queue.release(RESERVATION_BYTES);
        isHeld = false;
      };
      return {
        record(event) {
          if (!isHeld) return Promise.reject(new Error("this reservation has already been used"));
          release();
          const refused = refusal();
          if (refused !== undefined) return Promise.reject(refused);
          const text = eventText(event);
          queue.add(text.length + RECORD_OVERHEAD_BYTES);
          push(event, text, true);
          return new Promise((resolve, reject) => waiters.push({ at: pushedCount, resolve, reject }));
        },
        release,
      };
    },
    openFeed() {
      const { port1, port2 } = new MessageChannel();
      worker.post({ kind: "feed", port: port2 }, [port2]);
      return {
        port: port1,
        queue: queue.memory,
        countRecord: (event) => metrics.records[event].inc(),
        fail: (error) => fail(new AuditError("worker", `records of workers are not taken: ${textOf(error)}`)),
      };
    },
    recent: (limit, event) => recent.last(limit, event),
    get head() {
      return head;
    },
    ended,
    async close() {
      closing ??= close();
      await closing;
    },
  };
  let closing: Promise<void> | undefined;

  async function close(): Promise<void> {
    isClosing = true;
    queue.close();
    if (fault === undefined) {
      send();
      const closed = new Promise<number | undefined>((resolve) => {
        onClosed = resolve;
        setTimeout(() => resolve(undefined), CLOSE_LIMIT_MS).unref();
      });
      worker.post({ kind: "close", now: now(), timeoutMs: DRAIN_LIMIT_MS });
      const left = await closed;
      // `fault` is not checked here, because the worker's exit sets it and may be handled together with its last messages.
      if (left !== 0) reportRemaining(left);
    }
    await witness?.close();
    await endWorker(worker);
  }

  function reportRemaining(left: number | undefined): void {
    const fields = { records: left, dir };
    if (dir === undefined) log.error("the audit trail closed before all records were written to its output", fields);
    else
      log.warn(
        "the audit trail closed before all records were written to its output; the next start writes them",
        fields,
      );
  }

  const started = new Promise<void>((resolve, reject) => {
    onStarted = (error) => (error === undefined ? resolve() : reject(error));
  });
  worker.post({
    kind: "start",
    options: { nodeId, dir, fd, process, witnessed: options.witnessed(), now: now() },
  });
  const limit = setTimeout(() => fail(startTimeoutError(dir)), START_LIMIT_MS);
  try {
    await started;
  } catch (error) {
    isClosing = true;
    await endWorker(worker);
    throw error;
  } finally {
    clearTimeout(limit);
  }
  return trail;
}

function startTimeoutError(dir: string | undefined): AuditError {
  const what = `the audit trail did not open within ${START_LIMIT_MS / 1_000} s`;
  const where = dir === undefined ? "" : `that the disk of ${dir} responds and `;
  return new AuditError(
    "worker",
    `${what}: check ${where}that this machine has processor time to spare, and start again`,
  );
}

/**
 * Ends the worker. One in a blocked write cannot be terminated before the write returns; the process does not wait for
 * that.
 */
async function endWorker(worker: Thread<ToWorker>): Promise<void> {
  worker.keepProcessAlive(false);
  let limit: NodeJS.Timeout | undefined;
  await Promise.race([
    worker.terminate(),
    new Promise((resolve) => {
      limit = setTimeout(resolve, 1_000);
    }),
  ]);
  clearTimeout(limit);
}

function unavailable(message: string, cause?: Error): GatewayError {
  return new GatewayError("audit_unavailable", message, cause === undefined ? {} : { cause });
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
