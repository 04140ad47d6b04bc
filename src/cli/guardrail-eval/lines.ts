/** Splits bytes into lines of limited length, so that reading a file takes only the memory of its longest line. */

import { DataError } from "./cases.ts";

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
  let held: Uint8Array[] = [];
  let heldBytes = 0;
  for await (const chunk of chunks) {
    let from = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
      limitLine(heldBytes + end - from, { file, number, maxBytes });
      yield { number, text: decoded([...held, chunk.subarray(from, end)], file, number) };
      number += 1;
      held = [];
      heldBytes = 0;
      from = end + 1;
    }
    limitLine(heldBytes + chunk.length - from, { file, number, maxBytes });
    if (from < chunk.length) held.push(chunk.subarray(from));
    heldBytes += chunk.length - from;
  }
  if (heldBytes > 0) yield { number, text: decoded(held, file, number) };
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
