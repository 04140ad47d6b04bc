/**
 * Queue of texts for the threads. Calls take turns, one part each, so that a short one does not wait for all of a long
 * one.
 */
import { type Detection, DetectorError } from "../../../core/guardrails/index.ts";

/**
 * Number of UTF-16 units that a thread gets at once, which take about ten milliseconds. A longer single text is not
 * split.
 */
const PART_UNITS = 64 << 10;
/** Minimum length of a text that occupies a thread for a tenth of a second or more. */
export const LONG_UNITS = 1 << 20;

export interface Part {
  readonly call: Call;
  /** Index of the first text of the part. */
  readonly at: number;
  readonly texts: readonly string[];
  readonly units: number;
}

export interface Call {
  /** Name of the compiled recognizers. */
  readonly scan: string;
  readonly parts: Part[];
  readonly found: Detection[number][];
  /** Number of unanswered texts. */
  left: number;
  readonly settle: (outcome: Detection | Error) => void;
}

/** Splits the call's texts into parts, in order. */
export function divided(call: Call, texts: readonly string[]): void {
  let from = 0;
  let units = 0;
  const close = (to: number): void => {
    if (to > from) call.parts.push({ call, at: from, texts: texts.slice(from, to), units });
    from = to;
    units = 0;
  };
  for (const [at, { length }] of texts.entries()) {
    if (units + length > PART_UNITS) close(at);
    units += length;
  }
  close(texts.length);
}

/** Adds the answer to a part to its call. */
export function take({ call, at, texts }: Part, detection: Detection): void {
  if (detection.length !== texts.length) {
    call.settle(new DetectorError("failed", "a thread gave another count of texts"));
    return;
  }
  for (const [i, findings] of detection.entries()) call.found[at + i] = findings;
  call.left -= texts.length;
  if (call.left === 0) call.settle(call.found);
}

interface CallQueue {
  readonly add: (call: Call) => void;
  readonly remove: (call: Call) => void;
  /** Returns the next part; a long one only if `mayBeLong` is true. */
  readonly next: (mayBeLong: boolean) => Part | undefined;
  readonly isEmpty: boolean;
}

export function createCallQueue(): CallQueue {
  const calls = new Set<Call>();
  return {
    add: (call) => void calls.add(call),
    remove: (call) => void calls.delete(call),
    next(mayBeLong) {
      for (const call of calls) {
        const [part] = call.parts;
        if (part === undefined || (part.units >= LONG_UNITS && !mayBeLong)) continue;
        call.parts.shift();
        calls.delete(call);
        // The call moves to the end of the queue.
        if (call.parts.length > 0) calls.add(call);
        return part;
      }
      return undefined;
    },
    get isEmpty() {
      return calls.size === 0;
    },
  };
}
