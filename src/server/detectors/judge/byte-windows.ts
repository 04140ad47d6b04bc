/**
 * Splits a text into windows of a number of bytes that overlap by an eighth, so that text at an edge is complete in one
 * of them.
 */
import { utf8Length } from "../../core/guardrails/index.ts";

const MIN_OVERLAP = 64;

/** Returns the windows. `text` must be well-formed; characters are not split. */
export function windowsOf(text: string, maxBytes: number): readonly string[] {
  if (utf8Length(text) <= maxBytes) return [text];
  const bytes = Buffer.from(text, "utf8");
  const overlap = Math.max(MIN_OVERLAP, Math.floor(maxBytes / 8));
  const windows: string[] = [];
  for (let from = 0; ; ) {
    const to = boundary(bytes, Math.min(from + maxBytes, bytes.length));
    windows.push(bytes.toString("utf8", from, to));
    if (to >= bytes.length) return windows;
    from = boundary(bytes, to - overlap);
  }
}

/** Returns the end of a text, at most `maxBytes` of it. */
export function endOf(text: string, maxBytes: number): string {
  if (utf8Length(text) <= maxBytes) return text;
  const bytes = Buffer.from(text, "utf8");
  let from = bytes.length - maxBytes;
  while (from < bytes.length && isWithin(bytes, from)) from++;
  return bytes.toString("utf8", from);
}

const isWithin = (bytes: Buffer, at: number): boolean => ((bytes[at] ?? 0) & 0xc0) === 0x80;

function boundary(bytes: Buffer, at: number): number {
  let to = at;
  while (to > 0 && to < bytes.length && isWithin(bytes, to)) to--;
  return to;
}
