/**
 * Writes lines to a file descriptor that other threads and processes write to as well: whole lines, in pieces that a
 * pipe accepts completely or not at all.
 *
 * If a pipe or disk is full, the lines stay in the queue and the write is retried later. If the reader has gone, the
 * gateway continues: lines that it would have read count as lost, and the journal continues. A pipe is opened again,
 * since only our own open file can be made non-blocking without affecting other writers, and a thread that hangs in a
 * write could not be ended.
 */

import { closeSync, writeSync } from "node:fs";
import { reopenNonBlocking } from "../../base/index.ts";
import { systemCode } from "./audit-error.ts";
import { MAX_RECORD_BYTES } from "./audit-record.ts";

interface OutputLine {
  /** Line without the newline. */
  readonly line: string;
}

type WriteOutcome =
  /** Everything was written. */
  | { readonly kind: "written" }
  /** Only `count` lines were written; the rest must be written later. */
  | { readonly kind: "blocked"; readonly count: number; readonly code: string }
  /** The reader has gone. */
  | { readonly kind: "gone"; readonly code: string };

interface Output {
  /** Writes as many lines as the descriptor accepts. The next call must begin with the first line that was not counted. */
  write(lines: readonly OutputLine[]): WriteOutcome;
  /** Writes a line break before the next line, so that it does not continue a torn line of an earlier process. */
  startNewLine(): void;
  close(): void;
}

/** Maximum bytes of one write to files other than pipes, where writes are not atomic anyway. */
const LARGE_WRITE_BYTES = 256 * 1024;

/** Temporary errors: EAGAIN for a slow reader, the others for a lack of space or memory. */
const TEMPORARY_ERRORS: ReadonlySet<string> = new Set([
  "EAGAIN",
  "EWOULDBLOCK",
  "EINTR",
  "ENOSPC",
  "EDQUOT",
  "ENOBUFS",
  "ENOMEM",
]);

export function openOutput(descriptor: number): Output {
  const { fd, isReopened: isOurs, isFile } = reopenNonBlocking(descriptor);
  const pieceBytes = isFile ? LARGE_WRITE_BYTES : MAX_RECORD_BYTES;
  /** Unwritten rest of a partly written line. */
  let rest: Buffer | undefined;
  let needsLineBreak = false;

  function writeAll(lines: readonly OutputLine[], onCount: (lines: number) => void): void {
    if (needsLineBreak) writeSync(fd, "\n");
    needsLineBreak = false;
    for (let count = 0; count < lines.length; ) {
      const piece = rest ?? pieceOf(lines, count, pieceBytes);
      const written = writeSync(fd, piece);
      const whole = countNewlines(piece, written);
      const lineEnd = written === piece.length ? -1 : piece.indexOf(NEWLINE, written);
      rest = lineEnd < 0 || piece[written - 1] === NEWLINE ? undefined : piece.subarray(written, lineEnd + 1);
      count += whole;
      onCount(count);
    }
  }

  return {
    write(lines) {
      let count = 0;
      try {
        writeAll(lines, (counted) => {
          count = counted;
        });
        return { kind: "written" };
      } catch (error) {
        const code = systemCode(error) ?? "EIO";
        if (TEMPORARY_ERRORS.has(code)) return { kind: "blocked", count, code };
        rest = undefined;
        needsLineBreak = true;
        return { kind: "gone", code };
      }
    },
    startNewLine() {
      needsLineBreak = true;
    },
    close() {
      if (isOurs) closeSync(fd);
    },
  };
}

const NEWLINE = 10;

/** Returns whole lines beginning with `from`: at least one, and as many as fit in `maxBytes`. */
function pieceOf(lines: readonly OutputLine[], from: number, maxBytes: number): Buffer {
  let text = "";
  let bytes = 0;
  for (let at = from; at < lines.length; at += 1) {
    const line = `${lines[at]?.line ?? ""}\n`;
    bytes += Buffer.byteLength(line);
    if (at > from && bytes > maxBytes) break;
    text += line;
  }
  return Buffer.from(text);
}

function countNewlines(bytes: Buffer, end: number): number {
  let count = 0;
  for (let at = bytes.indexOf(NEWLINE); at >= 0 && at < end; at = bytes.indexOf(NEWLINE, at + 1)) count += 1;
  return count;
}
