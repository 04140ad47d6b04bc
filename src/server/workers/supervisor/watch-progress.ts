/**
 * Detects whether another process makes progress. A process is silent while it loads or compiles, which takes seconds of
 * processor time and, on a slow machine, minutes. So silence is judged by the processor time used meanwhile: none for many checks
 * means that the process hangs, and much of it means an endless loop.
 */
import { readFileSync } from "node:fs";

export interface ProgressLimits {
  /** Maximum number of checks without a sign of life and without processor use. */
  readonly maxSilentChecks: number;
  /** Maximum processor time since the last sign of life, in milliseconds. */
  readonly maxBusyMs: number;
}

interface ProgressWatch {
  /** Records a sign of life. */
  recordSign(): void;
  end(): void;
}

/** Clock tick of Linux, in milliseconds. USER_HZ is 100 wherever Node.js runs. */
const TICK_MS = 10;
/** Index of `utime` among the fields after `comm`, which may contain spaces: fields 14 and 15 of proc(5). */
const UTIME_FIELD = 11;

/** Returns the processor time that a process has used, in milliseconds, or `undefined` if the system does not report it. */
export function processorTime(pid: number): number | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "latin1");
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    return (Number(fields[UTIME_FIELD]) + Number(fields[UTIME_FIELD + 1])) * TICK_MS;
  } catch {
    return undefined;
  }
}

interface ProgressWatchOptions {
  readonly everyMs: number;
  readonly limits: () => ProgressLimits;
  readonly processorTimeMs: () => number | undefined;
}

/** Starts the checks. `onStalled` is called once, with the reason, if the process makes no progress. */
export function watchProgress(
  { everyMs, limits, processorTimeMs }: ProgressWatchOptions,
  onStalled: (reason: string) => void,
): ProgressWatch {
  let usedAtSignMs = processorTimeMs();
  let lastUsedMs = usedAtSignMs;
  let silentChecks = 0;
  const timer = setInterval(() => {
    const now = processorTimeMs();
    const hasWorked = now !== undefined && lastUsedMs !== undefined && now > lastUsedMs;
    lastUsedMs = now;
    silentChecks = hasWorked ? 0 : silentChecks + 1;
    const { maxSilentChecks, maxBusyMs } = limits();
    const usedMs = (now ?? 0) - (usedAtSignMs ?? 0);
    if (silentChecks < maxSilentChecks && usedMs < maxBusyMs) return;
    clearInterval(timer);
    const seconds = Math.round((silentChecks * everyMs) / 1_000);
    onStalled(
      silentChecks >= maxSilentChecks
        ? `it has not responded for ${seconds} s`
        : `it has not responded while it used ${Math.round(usedMs / 1_000)} s of a processor`,
    );
  }, everyMs).unref();
  return {
    recordSign() {
      silentChecks = 0;
      usedAtSignMs = lastUsedMs;
    },
    end: () => clearInterval(timer),
  };
}
