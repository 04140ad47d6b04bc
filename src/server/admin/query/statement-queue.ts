/** Queue that admits one statement at a time, with a few waiting in order. */

import { refusal } from "../refusal.ts";

const MAX_WAITING = 8;

export interface Queue {
  /** Waits for its turn; resolves with the function that ends it. Rejects with `busy`, or when the signal aborts. */
  enter(signal: AbortSignal): Promise<() => void>;
}

export function openQueue(): Queue {
  const waiting: (() => void)[] = [];
  let isTaken = false;
  const leave = (): void => {
    const next = waiting.shift();
    if (next === undefined) isTaken = false;
    else next();
  };
  return {
    enter(signal) {
      if (!isTaken) {
        isTaken = true;
        return Promise.resolve(leave);
      }
      if (waiting.length >= MAX_WAITING) {
        return Promise.reject(refusal("busy", `${MAX_WAITING} statements wait for their turn already.`));
      }
      return new Promise((resolve, reject) => {
        const turn = (): void => {
          signal.removeEventListener("abort", onAbort);
          resolve(leave);
        };
        const onAbort = (): void => {
          waiting.splice(waiting.indexOf(turn), 1);
          reject(signal.reason);
        };
        signal.addEventListener("abort", onAbort, { once: true });
        waiting.push(turn);
      });
    },
  };
}
