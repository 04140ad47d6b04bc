/**
 * When the next frame is made. None while the output is busy: the newest state is drawn once it is not. And where a frame
 * is long on its way, what changes by itself leaves the line free for as long again, so that a key finds it free and is
 * answered by the next frame: readings take half of a slow line at most.
 */

/** How much the terminal has still to take. */
export interface OutputGate {
  isBusy(): boolean;
  whenDrained(): Promise<void>;
  /** Milliseconds that what was last written was on its way. */
  readonly lastDrainMs: number;
  /** When it had come, by `performance.now()`. */
  readonly drainedAt: number;
}

export interface Pacing {
  /** `isByItself`: nobody at the keyboard waits for it. */
  want(isByItself: boolean): void;
  /** For good. */
  stop(): void;
}

export interface PacingOptions {
  readonly gate: OutputGate;
  draw(): void;
  onFailed(error: unknown): void;
}

/** A line that carries a frame sooner has room for all. */
export const SLOW_MS = 250;

export function createPacing({ gate, draw, onFailed }: PacingOptions): Pacing {
  /** Of the frame to come: undefined, none is wanted. */
  let isCalm: boolean | undefined;
  let isWaiting = false;
  let rest: NodeJS.Timeout | undefined;
  let isStopped = false;

  function next(): void {
    clearTimeout(rest);
    if (isStopped || isWaiting || isCalm === undefined) return;
    if (gate.isBusy()) {
      isWaiting = true;
      gate.whenDrained().then(() => {
        isWaiting = false;
        next();
      }, onFailed);
      return;
    }
    const { lastDrainMs, drainedAt } = gate;
    const restMs = lastDrainMs > SLOW_MS ? drainedAt + lastDrainMs - performance.now() : 0;
    if (isCalm && restMs > 0) {
      rest = setTimeout(next, restMs);
      return;
    }
    isCalm = undefined;
    draw();
  }

  return {
    want(isByItself) {
      isCalm = isByItself && isCalm !== false;
      next();
    },
    stop() {
      isStopped = true;
      clearTimeout(rest);
    },
  };
}
