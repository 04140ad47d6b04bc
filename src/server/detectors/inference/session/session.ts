/**
 * Session: a graph with its own process (a thread if it is on a server), shared by all its detectors. Requests wait in
 * a queue. An aborted one leaves it, and the thread stops work for it between two runs of the graph. A thread that
 * ends, or does not stop, is replaced. Source: design decisions, section 12.
 */

import { FifoMap } from "../../../../base/index.ts";
import { DetectorError } from "../../../core/guardrails/index.ts";
import type { ModelFinding } from "../reading/types.ts";
import { LOG_NOTHING, type LogEndedProcess } from "./crash-log.ts";
import { NO_SESSION_METRICS, type SessionMetrics } from "./metrics.ts";
import type { AskServer } from "./served/server-calls.ts";
import { startSessionProcess } from "./session-process.ts";
import {
  type Failure,
  MAX_READERS,
  type ReaderSpec,
  type SessionProblem,
  type SessionSpec,
} from "./session-protocol.ts";
import { openThread, type SessionThread, type StartSessionThread, startSessionWorker } from "./session-thread.ts";

/** Maximum number of waiting requests. Source: design decisions, section 12. */
const MAX_WAITING = 64;

/** Maximum concurrent requests for a graph on a server; a graph in memory handles one at a time. */
const MAX_AT_SERVER = 32;

/**
 * Time after which a thread that does not stop is ended, in milliseconds. A run of a graph, which cannot be
 * interrupted, takes far less.
 */
const GRACE_MS = 10_000;

/** Timeout for loading a graph, or a detector's files, in milliseconds; large ones take about ten seconds. */
const OPEN_LIMIT_MS = 120_000;

/**
 * Delay before a new thread if the last one ended without reading anything or could not be used, in milliseconds.
 * Doubles up to the maximum.
 */
const FIRST_BACKOFF_MS = 1_000;
const MAX_BACKOFF_MS = 60_000;

/** Maximum number of ended threads whose graph is still running; each has the graph in memory. */
const MAX_STOPPING = 2;

export type FindingsByText = readonly (readonly ModelFinding[])[];

export interface Session {
  /**
   * Opens a detector's reader. Resolves with the reason why the detector cannot read with the graph, if there is one.
   * Rejects with a `DetectorError`, or with the signal's reason.
   */
  readonly open: (name: string, spec: ReaderSpec, signal: AbortSignal) => Promise<SessionProblem | undefined>;
  /** Returns the findings for each text. Rejects with a `DetectorError`, or with the signal's reason. */
  readonly read: (
    name: string,
    spec: ReaderSpec,
    texts: readonly string[],
    signal: AbortSignal,
  ) => Promise<FindingsByText>;
  readonly isIdle: boolean;
  /** Number of texts in waiting requests. */
  readonly waiting: number;
  /** Ends the thread; a later request starts another. */
  readonly end: () => void;
}

export interface SessionOptions {
  readonly graceMs?: number;
  readonly metrics?: SessionMetrics;
  readonly start?: StartSessionThread;
  readonly logEnded?: LogEndedProcess;
  /** Server of a served graph. */
  readonly server?: AskServer;
  /** Returns the time of a monotonic clock with any origin, in milliseconds. */
  readonly now?: () => number;
  /** Called when nothing is in progress. */
  readonly onIdle?: () => void;
}

interface Job {
  readonly name: string;
  readonly spec: ReaderSpec;
  /** Texts to read; `undefined` to only open the reader. */
  readonly texts: readonly string[] | undefined;
  readonly settle: (outcome: Outcome) => void;
  isAbandoned: boolean;
}

type Outcome =
  | { readonly kind: "opened"; readonly problem: SessionProblem | undefined }
  | { readonly kind: "found"; readonly found: FindingsByText }
  | { readonly kind: "failed"; readonly error: Error };

const ABANDONED: Failure = { kind: "failed", message: "it was abandoned" };
const NO_ANSWER: Failure = { kind: "failed", message: "it did not answer" };

export function createSession(spec: SessionSpec, options: SessionOptions = {}): Session {
  const isServed = spec.graph.kind === "served";
  // A graph in memory gets a process of its own, since it runs native code on callers' texts.
  const defaultStart = isServed ? startSessionWorker : startSessionProcess;
  const { graceMs = GRACE_MS, metrics = NO_SESSION_METRICS, start = defaultStart } = options;
  const { now = () => performance.now(), onIdle, server, logEnded = LOG_NOTHING } = options;
  const kind = isServed ? "thread" : "process";
  const maxConcurrent = isServed ? MAX_AT_SERVER : 1;
  const queue: Job[] = [];
  let thread: SessionThread | undefined;
  /** Open detectors of the thread by name, with their problems. */
  let readers = new FifoMap<string, Promise<SessionProblem | undefined>>(MAX_READERS);
  const current = new Map<Job, { readonly id: number; grace: NodeJS.Timeout | undefined }>();
  let ids = 0;
  let stoppingCount = 0;
  let backoffMs = 0;
  let notBefore = 0;
  let hasRead = false;
  let unusable: SessionProblem | undefined;

  const failed = ({ kind, message }: Failure): Outcome => ({ kind: "failed", error: new DetectorError(kind, message) });

  const discardThread = (endReason: "stopped" | "crashed" | "unusable" | undefined): void => {
    if (thread === undefined) return;
    const dropped = thread;
    thread = undefined;
    readers = new FifoMap(MAX_READERS);
    if (!dropped.isEnded) {
      stoppingCount += 1;
      void dropped.gone.then(() => {
        stoppingCount -= 1;
      });
      dropped.end();
    }
    if (endReason === undefined) return;
    backoffMs = hasRead ? 0 : Math.min(MAX_BACKOFF_MS, Math.max(FIRST_BACKOFF_MS, 2 * backoffMs));
    notBefore = now() + backoffMs;
    if (endReason === "unusable") return;
    metrics.countEnded(endReason);
    const reason =
      endReason === "stopped" ? "it did not stop in time" : (dropped.failure?.message ?? `the ${kind} ended`);
    logEnded({ spec, reason, againInMs: backoffMs });
  };

  /** Returns the thread, started if necessary. Throws if it cannot be started now. */
  const ensureThread = (): SessionThread => {
    if (thread !== undefined && !thread.isEnded) return thread;
    if (now() < notBefore) throw new Error(`the ${kind} ended again and again, and is not started for a while`);
    if (stoppingCount >= MAX_STOPPING) throw new Error("two earlier ones are still stopping");
    hasRead = false;
    unusable = undefined;
    readers = new FifoMap(MAX_READERS);
    const opened = openThread(spec, start, server);
    thread = opened;
    // This also detects a crash between two requests.
    void opened.gone.then(() => thread === opened && discardThread("crashed"));
    return opened;
  };

  /** Awaits an opening, even if the request that caused it has ended, since later requests need it too. */
  const withOpenTimeout = async <Result>(answer: Promise<Result>): Promise<Result> => {
    const limit = setTimeout(() => discardThread("stopped"), OPEN_LIMIT_MS).unref();
    try {
      return await answer;
    } finally {
      clearTimeout(limit);
    }
  };

  const runJob = async (job: Job): Promise<Outcome> => {
    const { name, spec: reader, texts } = job;
    if (thread === undefined && unusable !== undefined && now() < notBefore)
      return { kind: "opened", problem: unusable };
    const activeThread = ensureThread();
    const problem = await withOpenTimeout(activeThread.opened);
    if (problem !== undefined) {
      unusable = problem;
      discardThread("unusable");
      return { kind: "opened", problem };
    }
    const readerProblem = await openReaderOn(activeThread, name, reader);
    if (readerProblem !== undefined || texts === undefined) return { kind: "opened", problem: readerProblem };
    if (job.isAbandoned) return failed(ABANDONED);
    const id = ++ids;
    const under = { id, grace: undefined };
    current.set(job, under);
    try {
      const answer = await activeThread.ask({ kind: "read", id, reader: name, texts });
      if (answer.kind !== "found") return failed(answer.kind === "failed" ? answer.failure : NO_ANSWER);
      hasRead = true;
      return answer;
    } finally {
      clearTimeout(current.get(job)?.grace);
      current.delete(job);
    }
  };

  /** Opens a reader, once per thread for all that wait for it. Rejects with a `DetectorError`, or when the thread ends. */
  const openReaderOn = (
    activeThread: SessionThread,
    name: string,
    reader: ReaderSpec,
  ): Promise<SessionProblem | undefined> => {
    const known = readers.get(name);
    if (known !== undefined) return known;
    const all = readers;
    const own = withOpenTimeout(activeThread.ask({ kind: "open", id: ++ids, reader: name, spec: reader })).then(
      (answer) => {
        if (answer.kind === "opened") return answer.problem;
        const { kind, message } = answer.kind === "failed" ? answer.failure : NO_ANSWER;
        throw new DetectorError(kind, message);
      },
    );
    all.set(name, own);
    own.catch(() => all.delete(name));
    return own;
  };

  /** Cancels the job in the thread, and ends the thread if it does not react. */
  const cancelJob = (job: Job): void => {
    const under = current.get(job);
    if (under === undefined || under.grace !== undefined) return;
    thread?.cancel(under.id);
    under.grace = setTimeout(() => discardThread("stopped"), graceMs).unref();
  };

  let runningCount = 0;
  const processQueue = async (): Promise<void> => {
    if (runningCount >= maxConcurrent) return;
    runningCount += 1;
    for (let job = queue.shift(); job !== undefined; job = queue.shift()) {
      let outcome: Outcome;
      const began = now();
      try {
        outcome = await runJob(job);
      } catch (error) {
        // If the thread has ended, the error of the request does not contain the reason; `drop` handles the crash.
        if (thread?.isEnded === true) discardThread("crashed");
        const message = error instanceof Error ? `the model's ${kind}: ${error.message}` : `the model's ${kind} ended`;
        outcome = error instanceof DetectorError ? { kind: "failed", error } : failed({ kind: "failed", message });
      }
      // Waiting for a server does not count as work.
      if (!isServed) metrics.addWorkSeconds((now() - began) / 1_000);
      job.settle(outcome);
    }
    runningCount -= 1;
    if (runningCount === 0) onIdle?.();
  };

  const submit = (
    name: string,
    reader: ReaderSpec,
    texts: readonly string[] | undefined,
    signal: AbortSignal,
  ): Promise<Outcome> => {
    signal.throwIfAborted();
    if (texts !== undefined && queue.length >= MAX_WAITING) {
      metrics.countRefused();
      throw new DetectorError("overloaded", `${MAX_WAITING} requests wait for the model already`);
    }
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        job.isAbandoned = true;
        const at = queue.indexOf(job);
        if (at >= 0) queue.splice(at, 1);
        else cancelJob(job);
        reject(signal.reason as Error);
      };
      const job: Job = {
        name,
        spec: reader,
        texts,
        isAbandoned: false,
        settle(outcome) {
          signal.removeEventListener("abort", onAbort);
          if (outcome.kind === "failed") reject(outcome.error);
          else resolve(outcome);
        },
      };
      signal.addEventListener("abort", onAbort, { once: true });
      // A job that only opens a reader goes first, since a configuration waits for it.
      if (texts === undefined) queue.unshift(job);
      else queue.push(job);
      void processQueue();
    });
  };

  return {
    async open(name, reader, signal) {
      const known = thread?.isEnded === false ? readers.get(name) : undefined;
      if (known !== undefined) return known;
      const outcome = await submit(name, reader, undefined, signal);
      return outcome.kind === "opened" ? outcome.problem : undefined;
    },
    async read(name, reader, texts, signal) {
      const outcome = await submit(name, reader, texts, signal);
      if (outcome.kind === "found") return outcome.found;
      const message = outcome.kind === "opened" ? outcome.problem?.message : undefined;
      throw new DetectorError("failed", `the model cannot be used${message === undefined ? "" : `: ${message}`}`);
    },
    get isIdle() {
      return runningCount === 0;
    },
    get waiting() {
      return queue.length;
    },
    end: () => discardThread(undefined),
  };
}
