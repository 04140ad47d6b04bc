/** FIFO semaphore with a bounded queue and a wait timeout. */
import { TokenFailure } from "./token-request.ts";

export interface FifoSemaphoreOptions {
  readonly atOnce: number;
  readonly waiting: number;
  /** Maximum wait, in milliseconds. */
  readonly limitMs: number;
}

export interface FifoSemaphore {
  /** Rejects with `TokenFailure` where too many wait, or for too long. */
  take<Value>(work: () => Promise<Value>): Promise<Value>;
}

export function createFifoSemaphore({ atOnce, waiting, limitMs }: FifoSemaphoreOptions): FifoSemaphore {
  const queue = new Set<() => void>();
  let free = atOnce;

  const turn = (): Promise<void> => {
    if (free > 0) {
      free--;
      return Promise.resolve();
    }
    if (queue.size >= waiting) return Promise.reject(new TokenFailure("too many wait for it", { isPassing: true }));
    return new Promise((resolve, reject) => {
      const begin = (): void => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(() => {
        queue.delete(begin);
        reject(new TokenFailure(`no turn within ${limitMs / 1_000} s`, { isPassing: true }));
      }, limitMs);
      queue.add(begin);
    });
  };

  return {
    async take(work) {
      await turn();
      try {
        return await work();
      } finally {
        const [next] = queue;
        if (next === undefined) {
          free++;
        } else {
          queue.delete(next);
          next();
        }
      }
    },
  };
}
