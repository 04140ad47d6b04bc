/** Newest lines of a growing audit trail, reported in batches. */

import { systemClock } from "../../base/index.ts";

/** Bytes that are read from the end of an existing file. */
const FROM_END_BYTES = 256 << 10;
const KEPT_LINES = 1_000;
/** Maximum length of a line; a record has at most 4 KiB, so a longer line is not an audit trail. */
const MAX_LINE_LENGTH = 64 << 10;
/** Interval of batches in milliseconds: a busy trail grows many times a second. */
const BATCH_MS = 250;

interface TailOptions {
  follow(fromEnd: number, signal: AbortSignal): AsyncIterable<string>;
  readonly signal: AbortSignal;
  /** Called with all kept lines, newest last. */
  onLines(lines: readonly string[]): void;
}

/** Follows the file until the signal; rejects if it cannot be read. */
export async function keepTail({ follow, signal, onLines }: TailOptions): Promise<void> {
  let lastLines: readonly string[] = [];
  let rest = "";
  let reportedAt = Number.NEGATIVE_INFINITY;
  let later: NodeJS.Timeout | undefined;
  const report = (): void => {
    later = undefined;
    reportedAt = systemClock.monotonic();
    onLines(lastLines);
  };
  try {
    for await (const chunk of follow(FROM_END_BYTES, signal)) {
      const lines = (rest + chunk).split("\n");
      rest = (lines.pop() ?? "").slice(-MAX_LINE_LENGTH);
      const whole = lines.filter((line) => line !== "").map((line) => line.slice(0, MAX_LINE_LENGTH));
      if (whole.length === 0) continue;
      lastLines = [...lastLines, ...whole].slice(-KEPT_LINES);
      later ??= setTimeout(report, Math.max(0, reportedAt + BATCH_MS - systemClock.monotonic()));
    }
  } finally {
    clearTimeout(later);
  }
}
