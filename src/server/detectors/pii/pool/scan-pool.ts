/**
 * Pool of threads that scan long texts, so that none blocks the data plane: shared by all detectors of a process and
 * all its configurations. Source: hot-path reference, 4.
 *
 * There are limits for the number of threads, the amount of waiting text, and how soon a crashed thread is replaced.
 * The time of a scan is limited by the caller's signal; after it, a thread has a moment to answer, and is then stopped
 * and replaced. Threads end after some time without work, except the last one as long as there is a detector.
 */
import { availableParallelism } from "node:os";
import type { DetectorConfig } from "../../../core/config/index.ts";
import { type Detection, DetectorError, tooManyFindings } from "../../../core/guardrails/index.ts";
import { NO_POOL_METRICS, type PoolMetrics, type PoolReadings } from "./metrics.ts";
import { unpack } from "./packed.ts";
import { type Call, createCallQueue, divided, LONG_UNITS, type Part, take } from "./scan-calls.ts";
import type { FromScanner } from "./scan-protocol.ts";
import { type ScanThread, type StartScanThread, startScanThread } from "./scan-thread.ts";

const MAX_THREADS = 4;
/** Maximum number of UTF-16 units that wait per thread, which scans them in one to two seconds. */
const MAX_UNITS_PER_THREAD = 8 << 20;
/**
 * Time in which a thread may still answer after its call was abandoned, in milliseconds: replacing it costs as much as
 * scanning 1 MB.
 */
const GRACE_MS = 500;
const IDLE_MS = 60_000;
const FIRST_BACKOFF_MS = 100;
const MAX_BACKOFF_MS = 10_000;

/** Source from which recognizers are compiled. */
interface ScanSource {
  readonly config: DetectorConfig;
  readonly usesContext: boolean;
}

export interface ScanPool {
  /** Makes threads keep the recognizers under this name as long as a `holder` of it is in memory. */
  readonly keep: (scan: string, source: ScanSource, holder: object) => void;
  /**
   * Scans texts. Rejects with `overloaded` if too much text waits, with `failed` if a thread ends during the scan, and
   * with the signal's reason. A call of any length is accepted if none waits.
   */
  readonly scan: (scan: string, texts: readonly string[], signal: AbortSignal) => Promise<Detection>;
  /** Starts a thread with all kept recognizers compiled, if none is running. */
  readonly warmUp: () => void;
  /** Ends all threads; scans in progress fail. */
  readonly close: () => void;
}

export interface PoolOptions {
  /** Maximum number of threads; defaults to the number of processors, at most 4. */
  readonly threads?: number;
  readonly maxQueued?: number;
  readonly graceMs?: number;
  readonly idleMs?: number;
  readonly metrics?: (readings: PoolReadings) => PoolMetrics;
  readonly start?: StartScanThread;
}

interface PoolThread {
  readonly thread: ScanThread;
  /** Names of the recognizers that the thread has compiled. */
  readonly compiledScans: Set<string>;
  part: Part | undefined;
  begun: number;
  isStopped: boolean;
  grace: NodeJS.Timeout | undefined;
  idle: NodeJS.Timeout | undefined;
}

export function createScanPool(options: PoolOptions = {}): ScanPool {
  const { threads: maxThreads = Math.max(1, Math.min(availableParallelism(), MAX_THREADS)) } = options;
  const {
    maxQueued = MAX_UNITS_PER_THREAD * maxThreads,
    graceMs = GRACE_MS,
    idleMs = IDLE_MS,
    start = startScanThread,
  } = options;
  // One thread is reserved for shorter texts.
  const maxLongScans = Math.max(1, maxThreads - 1);
  const sources = new Map<string, { readonly source: ScanSource; holders: number }>();
  const working = new Set<PoolThread>();
  const queue = createCallQueue();
  let queued = 0;
  let backoffMs = FIRST_BACKOFF_MS;
  let pause: NodeJS.Timeout | undefined;
  let isClosed = false;
  const metrics = options.metrics?.({ queued: () => queued, threads: () => working.size }) ?? NO_POOL_METRICS;

  const gone = new FinalizationRegistry((scan: string) => {
    const source = sources.get(scan);
    if (source === undefined) return;
    source.holders -= 1;
    if (source.holders > 0) return;
    sources.delete(scan);
    for (const { thread, compiledScans: knows } of working)
      if (knows.delete(scan)) thread.post({ kind: "forget", scan });
    if (sources.size === 0) for (const one of working) if (one.part === undefined) startIdleTimeout(one);
  });

  const compileOn = ({ thread, compiledScans: knows }: PoolThread, scan: string): void => {
    const source = sources.get(scan);
    if (source === undefined || knows.has(scan)) return;
    knows.add(scan);
    thread.post({ kind: "compile", scan, ...source.source });
  };

  const add = (): PoolThread => {
    const one: PoolThread = {
      thread: start({
        onMessage: (answer) => answered(one, answer), // Its error could contain a part of a text.
        onEnd: () => ended(one),
      }),
      compiledScans: new Set(),
      part: undefined,
      begun: 0,
      isStopped: false,
      grace: undefined,
      idle: undefined,
    };
    working.add(one);
    for (const scan of sources.keys()) compileOn(one, scan);
    startIdleTimeout(one);
    return one;
  };

  const assign = (one: PoolThread, part: Part): void => {
    const { scan } = part.call;
    clearTimeout(one.idle);
    one.part = part;
    one.begun = performance.now();
    one.thread.keepProcessAlive(true);
    compileOn(one, scan);
    one.thread.post({ kind: "scan", scan, texts: part.texts });
  };

  /** Starts the idle timeout of a thread without work. */
  const startIdleTimeout = (one: PoolThread): void => {
    clearTimeout(one.idle);
    one.idle = setTimeout(() => {
      if (working.size === 1 && sources.size > 0) return;
      working.delete(one);
      void one.thread.terminate();
    }, idleMs).unref();
  };

  const takePart = (one: PoolThread): Part | undefined => {
    const { part } = one;
    one.part = undefined;
    clearTimeout(one.grace);
    if (part !== undefined) metrics.addWorkSeconds((performance.now() - one.begun) / 1_000);
    return part;
  };

  const answered = (one: PoolThread, answer: FromScanner): void => {
    if (one.isStopped) return;
    const part = takePart(one);
    one.thread.keepProcessAlive(false);
    backoffMs = FIRST_BACKOFF_MS;
    dispatch();
    if (one.part === undefined) startIdleTimeout(one);
    if (part === undefined) return;
    if (answer.kind === "found") take(part, unpack(answer.packed));
    else if (answer.kind === "excess") part.call.settle(tooManyFindings());
    else part.call.settle(new DetectorError("failed", answer.error));
  };

  const ended = (one: PoolThread): void => {
    clearTimeout(one.idle);
    const isExpected = !working.delete(one);
    const part = takePart(one);
    if (isClosed || isExpected) return;
    metrics.countEnded(one.isStopped ? "stopped" : "crashed");
    part?.call.settle(new DetectorError("failed", "the thread that read the text ended"));
    if (!one.isStopped) {
      pause ??= setTimeout(() => {
        pause = undefined;
        dispatch();
      }, backoffMs);
      backoffMs = Math.min(2 * backoffMs, MAX_BACKOFF_MS);
    }
    dispatch();
  };

  const free = (): PoolThread | undefined => {
    for (const one of working) if (one.part === undefined && !one.isStopped) return one;
    return pause === undefined && working.size < maxThreads ? add() : undefined;
  };

  const dispatch = (): void => {
    while (!queue.isEmpty) {
      const one = free();
      if (one === undefined) return;
      let long = 0;
      for (const { part } of working) if (part !== undefined && part.units >= LONG_UNITS) long += 1;
      const part = queue.next(long < maxLongScans);
      if (part === undefined) return;
      assign(one, part);
    }
  };

  /** Abandons a call that is no longer awaited. */
  const abandon = (call: Call): void => {
    for (const one of working) {
      if (one.part?.call !== call || one.isStopped) continue;
      one.grace = setTimeout(() => {
        one.isStopped = true;
        void one.thread.terminate();
      }, graceMs).unref();
    }
  };

  return {
    keep(scan, source, holder) {
      const cached = sources.get(scan);
      if (cached === undefined) sources.set(scan, { source, holders: 1 });
      else cached.holders += 1;
      gone.register(holder, scan);
    },
    scan(scan, texts, signal) {
      return new Promise((resolve, reject) => {
        signal.throwIfAborted();
        if (isClosed) throw new DetectorError("failed", "the gateway is stopping");
        const units = texts.reduce((sum, { length }) => sum + length, 0);
        // The charge is limited, so that no single call fills the queue.
        const charge = Math.min(units, maxQueued / 2);
        if (queued > 0 && queued + charge > maxQueued) {
          metrics.countRefused();
          throw new DetectorError("overloaded", "too much text is waiting for the detector threads");
        }
        queued += charge;
        let isOver = false;
        const settle = (outcome: Detection | Error): void => {
          if (isOver) return;
          isOver = true;
          queued -= charge;
          queue.remove(call);
          signal.removeEventListener("abort", onAbort);
          if (outcome instanceof Error) {
            abandon(call);
            reject(outcome);
          } else resolve(outcome);
        };
        const onAbort = (): void => settle(signal.reason as Error);
        const call: Call = { scan, parts: [], found: [], left: texts.length, settle };
        divided(call, texts);
        signal.addEventListener("abort", onAbort, { once: true });
        queue.add(call);
        dispatch();
      });
    },
    warmUp() {
      if (!isClosed && sources.size > 0 && working.size === 0) add();
    },
    close() {
      isClosed = true;
      clearTimeout(pause);
      for (const { part, thread, idle } of working) {
        clearTimeout(idle);
        part?.call.settle(new DetectorError("failed", "the gateway is stopping"));
        void thread.terminate();
      }
      for (let part = queue.next(true); part !== undefined; part = queue.next(true)) {
        part.call.settle(new DetectorError("failed", "the gateway is stopping"));
      }
    },
  };
}
