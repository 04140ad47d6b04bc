/** Defines the interface between the inspection of a streamed answer and its driver. */
import type { SseEvent, StreamTexts } from "../core/dialects/index.ts";
import type { GuardrailMetrics, JudgedAnswer, MaybePromise } from "../core/guardrails/index.ts";

export interface StreamPorts {
  readonly answer: JudgedAnswer;
  readonly texts: StreamTexts;
  readonly metrics: GuardrailMetrics;
  /** Sends a frame to the client. Has no effect once the answer is refused. */
  readonly show: (frame: Buffer) => void;
  /** Called if a frame was shown, or the answer was refused, although nothing was pushed. */
  readonly woke: () => void;
  /** Called with an error for which `push` and `end` would reject, if it occurs in work that neither of them began. */
  readonly failed: (error: unknown) => void;
}

export interface SimilarEvent {
  /** Offset of the first byte after the event. */
  readonly end: number;
  readonly done: MaybePromise<void>;
}

export interface InspectedStream {
  /**
   * Inspects an event. May be called again before the previous event is done. Throws, or rejects with, `UnreadableAnswer` or the
   * reason of the answer's signal.
   */
  readonly push: (event: SseEvent) => MaybePromise<void>;
  /**
   * Inspects the event that begins at an offset of the bytes, as `push` does, if it resembles the previous one. Returns
   * `undefined` if it must be pushed.
   */
  readonly pushSimilar?: (bytes: Buffer, at: number) => SimilarEvent | undefined;
  /** Inspects and shows everything that is held back. */
  readonly end: () => MaybePromise<void>;
  /** Stops the inspection because no caller waits any longer. Must also be called at the end. */
  readonly close: () => void;
  /** Estimated memory in bytes. */
  readonly heldBytes: number;
  /** Whether the answer is held back until its end, so that nothing is shown for a long time. */
  readonly isBuffering: boolean;
}

interface SerialQueue {
  (work: () => MaybePromise<void>): MaybePromise<void>;
  readonly isBusy: () => boolean;
}

/** Returns a queue that runs one job at a time; a job that is added while another runs waits for it. */
export function createSerialQueue(): SerialQueue {
  let last: Promise<void> | undefined;
  const inTurn = (work: () => MaybePromise<void>): MaybePromise<void> => {
    const done = last === undefined ? work() : last.then(work);
    if (!(done instanceof Promise)) return undefined;
    const turn: Promise<void> = done.finally(() => {
      if (last === turn) last = undefined;
    });
    last = turn;
    return turn;
  };
  return Object.assign(inTurn, { isBusy: () => last !== undefined });
}
