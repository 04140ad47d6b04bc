/** Progress line on stderr. It is rewritten at most ten times a second, and shown only in a terminal. */

import type { Io } from "./process-io.ts";

const PERIOD_MS = 100;
const CLEAR_LINE = "\r\u001b[K";

export interface Progress {
  add(bytes: number): void;
  /** Erases the line, so that other output starts at its beginning. */
  clear(): void;
}

interface ProgressLine {
  /** Shows the text. `words` is called only if a new line is due. */
  show(textOf: () => string): void;
  clear(): void;
}

export function progressLine(io: Io): ProgressLine {
  if (!io.isTerminal("stderr")) return { show() {}, clear() {} };
  let shownAt = Number.NEGATIVE_INFINITY;
  return {
    show(textOf) {
      if (io.now() - shownAt < PERIOD_MS) return;
      shownAt = io.now();
      io.stderr.write(`${CLEAR_LINE}${textOf()}`);
    },
    clear() {
      if (shownAt > Number.NEGATIVE_INFINITY) io.stderr.write(CLEAR_LINE);
      shownAt = Number.NEGATIVE_INFINITY;
    },
  };
}

/** Returns a byte counter with a progress line, such as `saved 12.3 MB of 40 MB`. `verb`: `saved` in this example. */
export function progressOf(io: Io, verb: string, wholeBytes?: number): Progress {
  const line = progressLine(io);
  const of = wholeBytes === undefined ? "" : ` of ${sizeText(wholeBytes)}`;
  let bytes = 0;
  return {
    add(more) {
      bytes += more;
      line.show(() => `${verb} ${sizeText(bytes)}${of}`);
    },
    clear: line.clear,
  };
}

/** Passes the parts through and adds their sizes to the progress. */
export async function* countBytes(
  parts: AsyncIterable<Uint8Array>,
  progress: Pick<Progress, "add">,
): AsyncGenerator<Uint8Array> {
  for await (const part of parts) {
    progress.add(part.length);
    yield part;
  }
}

const UNITS = ["B", "kB", "MB", "GB", "TB"];

/** Formats a size in decimal units with three digits: `999 B`, `1.00 kB`, `12.3 MB`. */
export function sizeText(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  let at = 0;
  let value = bytes;
  // A value that would round to 1000 is shown in the next unit, as 1.00.
  while (value >= 999.5 && at < UNITS.length - 1) {
    value /= 1_000;
    at += 1;
  }
  return `${value >= 99.95 ? value.toFixed(0) : value >= 9.995 ? value.toFixed(1) : value.toFixed(2)} ${UNITS[at]}`;
}
