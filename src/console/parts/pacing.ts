/**
 * Pacing of frames. While the output is busy no frame is made; afterwards the newest state is drawn. If a frame takes long to
 * transmit, automatic changes leave the line idle for the same time, so that a key is answered immediately: readings use at
 * most half of a slow line.
 */

/** Progress of the output to the terminal. `isBusy` returns whether the terminal still has output to accept. */
export interface OutputGate {
  isBusy(): boolean;
  whenDrained(): Promise<void>;
  /** Transmission time of the last output, in milliseconds. */
  readonly lastDrainMs: number;
  /** Time at which that output was transmitted, by `performance.now()`. */
  readonly drainedAt: number;
}

interface FramePacing {
  /** Requests a frame. `isAutomatic` is true if no operator waits for the change. */
  requestFrame(isAutomatic: boolean): void;
  /** Ends the pacing; no further frame is drawn. */
  stop(): void;
}

interface PacingOptions {
  readonly gate: OutputGate;
  draw(): void;
  onFailed(error: unknown): void;
}

/** Transmission time of a slow line, in milliseconds; a faster one is not paced. */
export const SLOW_MS = 250;

export function createPacing({ gate, draw, onFailed }: PacingOptions): FramePacing {
  /** Whether the next frame has only automatic changes; `undefined` if no frame is wanted. */
  let isNextAutomatic: boolean | undefined;
  let isWaiting = false;
  let rest: NodeJS.Timeout | undefined;
  let isStopped = false;

  function next(): void {
    clearTimeout(rest);
    if (isStopped || isWaiting || isNextAutomatic === undefined) return;
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
    if (isNextAutomatic && restMs > 0) {
      rest = setTimeout(next, restMs);
      return;
    }
    isNextAutomatic = undefined;
    draw();
  }

  return {
    requestFrame(isAutomatic) {
      isNextAutomatic = isAutomatic && isNextAutomatic !== false;
      next();
    },
    stop() {
      isStopped = true;
      clearTimeout(rest);
    },
  };
}
