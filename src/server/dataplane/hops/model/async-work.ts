/** Runs work on an answer that may be asynchronous. The provider must wait meanwhile. */
import type { MaybePromise } from "../../../core/guardrails/index.ts";

interface AsyncWorkPorts {
  /** Called when some work is done and its result can be sent. */
  readonly onResult: () => void;
  readonly fail: (error: unknown) => void;
  readonly hasEnded: () => boolean;
}

export class AsyncWork {
  readonly #ports: AsyncWorkPorts;
  /** Number of running tasks. */
  #pending = 0;
  /** Whether the client's buffer is full. */
  #isFull = false;
  /** Resumes reading from the provider. */
  #resume: (() => void) | undefined;

  constructor(ports: AsyncWorkPorts) {
    this.#ports = ports;
  }

  onResume(listener: () => void): void {
    this.#resume = listener;
  }

  /** Called when the client's buffer is full. */
  markFull(): void {
    this.#isFull = true;
  }

  markDrained(): void {
    this.#isFull = false;
    if (this.#pending === 0) this.#resume?.();
  }

  /** Runs `work`, sends its result and then calls `next`. Returns false if the provider must wait until it is resumed. */
  run(work: () => MaybePromise<void>, next?: () => void): boolean {
    const { onResult, fail, hasEnded } = this.#ports;
    if (hasEnded()) return true;
    const then = (): void => {
      onResult();
      if (next !== undefined && !hasEnded()) next();
    };
    let done: MaybePromise<void>;
    try {
      done = work();
    } catch (error) {
      fail(error);
      return true;
    }
    if (!(done instanceof Promise)) {
      then();
      return hasEnded() || (!this.#isFull && this.#pending === 0);
    }
    this.#pending++;
    const settled = (): void => {
      this.#pending--;
      if (this.#pending === 0 && !this.#isFull && !hasEnded()) this.#resume?.();
    };
    done.then(then).catch(fail).then(settled, settled);
    return false;
  }
}
