/** Wakes everyone who waits for a change, or for time to pass. */

interface Notifier {
  wake(): void;
  /** Resolves at the next `wake`, or after `ms`. */
  next(ms: number): Promise<void>;
}

export function createNotifier(): Notifier {
  const waiting = new Set<() => void>();
  return {
    wake() {
      for (const done of [...waiting]) done();
    },
    next: (ms) =>
      new Promise((resolve) => {
        const done = (): void => {
          clearTimeout(timer);
          waiting.delete(done);
          resolve();
        };
        const timer = setTimeout(done, Math.max(0, ms));
        waiting.add(done);
      }),
  };
}
