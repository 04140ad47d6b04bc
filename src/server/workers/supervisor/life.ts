/**
 * Detects whether another process makes progress. A process is silent while it loads or compiles, which takes seconds of
 * processor time and, on a slow machine, minutes. So silence is judged by the processor time used meanwhile: none for many checks
 * means that the process hangs, and much of it means an endless loop.
 */
import { readFileSync } from "node:fs";

export interface LifeBounds {
  /** Maximum number of checks without a sign of life and without processor use. */
  readonly maxSilentChecks: number;
  /** Maximum processor time since the last sign of life, in milliseconds. */
  readonly busyMs: number;
}

interface Life {
  /** Records a sign of life. */
  heard(): void;
  end(): void;
}

/** Clock tick of Linux, in milliseconds. USER_HZ is 100 wherever Node.js runs. */
const TICK_MS = 10;
/** Index of `utime` among the fields after `comm`, which may contain spaces: fields 14 and 15 of proc(5). */
const UTIME = 11;

/** Returns the processor time that a process has used, in milliseconds, or `undefined` if the system does not report it. */
export function processorTime(pid: number): number | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "latin1");
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    return (Number(fields[UTIME]) + Number(fields[UTIME + 1])) * TICK_MS;
  } catch {
    return undefined;
  }
}

interface LifeOptions {
  readonly everyMs: number;
  readonly bounds: () => LifeBounds;
  readonly used: () => number | undefined;
}

/** Starts the checks. `still` is called once, with the reason, if the process makes no progress. */
export function openLife({ everyMs, bounds, used }: LifeOptions, still: (why: string) => void): Life {
  let atSign = used();
  let last = atSign;
  let silent = 0;
  const timer = setInterval(() => {
    const now = used();
    const moved = now !== undefined && last !== undefined && now > last;
    last = now;
    silent = moved ? 0 : silent + 1;
    const { maxSilentChecks, busyMs } = bounds();
    const busy = (now ?? 0) - (atSign ?? 0);
    if (silent < maxSilentChecks && busy < busyMs) return;
    clearInterval(timer);
    const seconds = Math.round((silent * everyMs) / 1_000);
    still(
      silent >= maxSilentChecks
        ? `it has not responded for ${seconds} s`
        : `it has not responded while it used ${Math.round(busy / 1_000)} s of a processor`,
    );
  }, everyMs).unref();
  return {
    heard() {
      silent = 0;
      atSign = last;
    },
    end: () => clearInterval(timer),
  };
}
