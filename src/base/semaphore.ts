/**
 * FIFO semaphore: a limited number of callers work at the same time, and the others wait in order of arrival. With one
 * permit it is a mutex.
 */

export interface SemaphoreOptions {
  /** Maximum number of callers that work at the same time. */
  readonly permits: number;
  /** Maximum number of callers that wait; unlimited by default. */
  readonly maxWaiting?: number;
  /** Creates the error for a caller that finds the queue full or has waited too long. */
  readonly refusal?: (reason: "full" | "late") => Error;
}

/** Limits of a wait. */
export interface WaitLimits {
  readonly signal?: AbortSignal | undefined;
  /** Maximum wait in milliseconds; unlimited by default. */
  readonly waitMs?: number | undefined;
}

export interface Semaphore {
  /** Number of callers that have a permit. */
  readonly inUse: number;
  readonly waiting: number;
  /**
   * Takes a permit, which the caller returns with `release`. Returns `undefined` if one is free, otherwise a promise.
   * Throws the refusal if the queue is full; rejects with it after `waitMs`. Throws or rejects with the signal's
   * reason.
   */
  acquire(limits?: WaitLimits): Promise<void> | undefined;
  release(): void;
  /** Runs `work` with a permit. Rejects like `acquire`, or like `work`. */
  run<Result>(work: () => Result | Promise<Result>, limits?: WaitLimits): Promise<Result>;
}

const defaultRefusal = (reason: "full" | "late"): Error =>
  new Error(reason === "full" ? "too many are waiting already" : "the wait took too long");

export function createSemaphore({
  permits,
  maxWaiting = Number.POSITIVE_INFINITY,
  refusal = defaultRefusal,
}: SemaphoreOptions): Semaphore {
  /** Waiting callers in order of arrival; each function passes the permit to its caller. */
  const queue = new Set<() => void>();
  let inUse = 0;

  const wait = ({ signal, waitMs }: WaitLimits): Promise<void> =>
    new Promise((resolve, reject) => {
      let timer: NodeJS.Timeout | undefined;
      const leave = (): void => {
        queue.delete(enter);
        clearTimeout(timer);
        signal?.removeEventListener("abort", onAbort);
      };
      const enter = (): void => {
        leave();
        resolve();
      };
      const onAbort = (): void => {
        leave();
        reject(signal?.reason);
      };
      const onLate = (): void => {
        leave();
        reject(refusal("late"));
      };
      if (waitMs !== undefined) timer = setTimeout(onLate, waitMs);
      signal?.addEventListener("abort", onAbort, { once: true });
      queue.add(enter);
    });

  const acquire = (limits: WaitLimits = {}): Promise<void> | undefined => {
    limits.signal?.throwIfAborted();
    if (inUse < permits) {
      inUse += 1;
      return undefined;
    }
    if (queue.size >= maxWaiting) throw refusal("full");
    return wait(limits);
  };

  /** Passes the permit to the caller that has waited longest, or returns it. */
  const release = (): void => {
    const [next] = queue;
    if (next === undefined) inUse -= 1;
    else next();
  };

  return {
    get inUse() {
      return inUse;
    },
    get waiting() {
      return queue.size;
    },
    acquire,
    release,
    async run(work, limits) {
      await acquire(limits);
      try {
        return await work();
      } finally {
        release();
      }
    },
  };
}
