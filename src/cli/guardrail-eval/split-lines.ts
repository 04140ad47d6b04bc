/** Splits bytes into lines of limited length, so that reading a file takes only the memory of its longest line. */

import { DataError } from "./evaluation-case.ts";

/** Maximum length of a line; by default the data plane accepts no larger body. */
export const MAX_LINE_BYTES = 32 << 20;

export interface Line {
  /** Line number from 1. */
  readonly number: number;
  /** Text without its line end. */
  readonly text: string;
}

/** Yields the lines, which end in LF or CR LF; the last may end with the file. Throws `DataError`. */
export async function* linesOf(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  file: string,
  maxBytes = MAX_LINE_BYTES,
): AsyncGenerator<Line> {
  let number = 1;
  let pendingChunks: Uint8Array[] = [];
  let pendingBytes = 0;
  for await (const chunk of chunks) {
    let from = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
      limitLine(pendingBytes + end - from, { file, number, maxBytes });
      yield { number, text: decoded([...pendingChunks, chunk.subarray(from, end)], file, number) };
      number += 1;
      pendingChunks = [];
      pendingBytes = 0;
      from = end + 1;
    }
    limitLine(pendingBytes + chunk.length - from, { file, number, maxBytes });
    if (from < chunk.length) pendingChunks.push(chunk.subarray(from));
    pendingBytes += chunk.length - from;
  }
  if (pendingBytes > 0) yield { number, text: decoded(pendingChunks, file, number) };
}

function limitLine(
  bytes: number,
  { file, number, maxBytes }: { readonly file: string; readonly number: number; readonly maxBytes: number },
): void {
  if (bytes > maxBytes) throw new DataError(file, number, `the line is longer than ${maxBytes} bytes`);
}

const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function decoded(parts: readonly Uint8Array[], file: string, number: number): string {
  let text: string;
  try {
    text = UTF8.decode(parts.length === 1 ? parts[0] : Buffer.concat(parts));
  } catch {
    throw new DataError(file, number, "the line is not valid UTF-8");
  }
  if (number === 1 && text.startsWith("\ufeff")) text = text.slice(1);
  return text.endsWith("\r") ? text.slice(0, -1) : text;
}
