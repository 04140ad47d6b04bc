/** Work on an answer that may take longer than the call that asked for it, and a provider that waits meanwhile. */
import type { Later } from "../../../core/guardrails/index.ts";

export interface DrivingPorts {
  /** Some work is done: what came of it can be shown. */
  readonly out: () => void;
  readonly fail: (error: unknown) => void;
  readonly isOver: () => boolean;
}

export class DrivenWork {
  readonly #ports: DrivingPorts;
  /** Works that are under way. */
  #pending = 0;
  /** The client is slow. */
  #isFull = false;
  /** The provider may go on. */
  #resume: (() => void) | undefined;

  constructor(ports: DrivingPorts) {
    this.#ports = ports;
  }

  onResume(listener: () => void): void {
    this.#resume = listener;
  }

  /** The client takes no more for now. */
  full(): void {
    this.#isFull = true;
  }

  drained(): void {
    this.#isFull = false;
    if (this.#pending === 0) this.#resume?.();
  }

  /** Does it and shows what came of it, then `next`. False: the provider is to wait until it is resumed. */
  drive(work: () => Later<void>, next?: () => void): boolean {
    const { out, fail, isOver } = this.#ports;
    if (isOver()) return true;
    const then = (): void => {
      out();
      if (next !== undefined && !isOver()) next();
    };
    let done: Later<void>;
    try {
      done = work();
    } catch (error) {
      fail(error);
      return true;
    }
    if (!(done instanceof Promise)) {
      then();
      return isOver() || (!this.#isFull && this.#pending === 0);
    }
    this.#pending++;
    const settled = (): void => {
      this.#pending--;
      if (this.#pending === 0 && !this.#isFull && !isOver()) this.#resume?.();
    };
    done.then(then).catch(fail).then(settled, settled);
    return false;
  }
}
