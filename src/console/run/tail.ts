/** The newest lines of an audit trail that grows, handed on in batches. */

import { systemClock } from "../../base/index.ts";

/** Of a file that is there already. */
const FROM_END_BYTES = 256 << 10;
const KEPT_LINES = 1_000;
/** A record is at most 4 KiB; what has no line end for so long is no trail. */
const MAX_LINE_LENGTH = 64 << 10;
/** A busy trail grows many times a second, and nobody reads faster than this. */
const BATCH_MS = 250;

export interface TailOptions {
  follow(fromEnd: number, signal: AbortSignal): AsyncIterable<string>;
  readonly signal: AbortSignal;
  /** Newest last; each call has all that are kept. */
  onLines(lines: readonly string[]): void;
}

/** Ends with the signal; rejects when the file cannot be read. */
export async function keepTail({ follow, signal, onLines }: TailOptions): Promise<void> {
  let kept: readonly string[] = [];
  let rest = "";
  let toldAt = Number.NEGATIVE_INFINITY;
  let later: NodeJS.Timeout | undefined;
  const tell = (): void => {
    later = undefined;
    toldAt = systemClock.monotonic();
    onLines(kept);
  };
  try {
    for await (const chunk of follow(FROM_END_BYTES, signal)) {
      const lines = (rest + chunk).split("\n");
      rest = (lines.pop() ?? "").slice(-MAX_LINE_LENGTH);
      const whole = lines.filter((line) => line !== "").map((line) => line.slice(0, MAX_LINE_LENGTH));
      if (whole.length === 0) continue;
      kept = [...kept, ...whole].slice(-KEPT_LINES);
      later ??= setTimeout(tell, Math.max(0, toldAt + BATCH_MS - systemClock.monotonic()));
    }
  } finally {
    clearTimeout(later);
  }
}
