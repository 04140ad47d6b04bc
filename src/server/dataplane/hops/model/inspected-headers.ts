/** Headers of an answer whose body was inspected: what they say of the body must be true of what leaves. */
import { lowerCase } from "../../headers.ts";

export interface Mending {
  /** Frames may be shown other than they came. */
  readonly isStream?: boolean;
  readonly isRewritten?: boolean;
  readonly isDecoded?: boolean;
  /** It is UTF-8 now. */
  readonly isTranscoded?: boolean;
  /** Of the body, where it is another one. */
  readonly length?: number;
}

/** RFC 9110, 8.8; RFC 9530; RFC 3230; RFC 1864. */
const OF_THE_BODY: ReadonlySet<string> = new Set(["content-digest", "repr-digest", "digest", "content-md5", "etag"]);

/** Statuses and methods whose answers have no body. RFC 9110, 6.4.1. */
export const isBodiless = (method: string | undefined, status: number): boolean =>
  method === "HEAD" || status === 204 || status === 304;

export function headersOf(headers: readonly Buffer[], mending: Mending): readonly Buffer[] {
  const { isStream = false, isRewritten = false, isDecoded = false, isTranscoded = false, length } = mending;
  if (!isStream && !isRewritten && !isDecoded) return headers;
  const kept: Buffer[] = [];
  for (let at = 0; at < headers.length; at += 2) {
    const name = headers[at] as Buffer;
    const value = headers[at + 1] as Buffer;
    const lower = lowerCase(name.toString("latin1"));
    if (lower === "content-length") {
      if (!isStream) kept.push(name, Buffer.from(String(length)));
    } else if (isDecoded && lower === "content-encoding") {
      // It was taken off.
    } else if (OF_THE_BODY.has(lower)) {
      // It is of other bytes.
    } else if (isTranscoded && lower === "content-type") {
      const type = value.toString("latin1").replace(/;\s*charset\s*=\s*("[^"]*"|[^;]*)/i, "");
      kept.push(name, Buffer.from(`${type}; charset=utf-8`, "latin1"));
    } else kept.push(name, value);
  }
  return kept;
}
