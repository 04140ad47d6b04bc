/** Writes the headers of a translated answer. */
import { retryAfterMs } from "../../../upstream/index.ts";
import { lowerCase } from "../../headers.ts";

/** Headers that describe the provider's body. */
const BODY_HEADERS: ReadonlySet<string> = new Set(["content-type", "content-length", "content-encoding"]);

const REQUEST_ID = "request-id";
const LONG_REQUEST_ID = "x-request-id";
const EXACT_RETRY_AFTER = "retry-after-ms";
const RETRY_AFTER = "retry-after";

/**
 * Returns the provider's headers without those that describe its body. The provider's request id is included under the names
 * that the SDKs of both dialects read. A wait that the provider gives only in milliseconds is also given in whole seconds, the
 * only form that clients of every dialect read.
 */
export function translatedHeaders(headers: readonly string[], type: string, length: number | undefined): string[] {
  const pairs: string[] = [];
  let requestId: string | undefined;
  let exactWait: string | undefined;
  const names = new Set<string>();
  for (let at = 0; at < headers.length; at += 2) {
    const written = headers[at] as string;
    const name = lowerCase(written);
    const value = headers[at + 1] as string;
    if (BODY_HEADERS.has(name)) continue;
    names.add(name);
    if (name === REQUEST_ID || name === LONG_REQUEST_ID) requestId = value;
    if (name === EXACT_RETRY_AFTER) exactWait = value;
    pairs.push(written, value);
  }
  if (requestId !== undefined && !names.has(LONG_REQUEST_ID)) pairs.push(LONG_REQUEST_ID, requestId);
  if (requestId !== undefined && !names.has(REQUEST_ID)) pairs.push(REQUEST_ID, requestId);
  if (exactWait !== undefined && !names.has(RETRY_AFTER)) {
    const waitMs = retryAfterMs(new Map([[EXACT_RETRY_AFTER, exactWait]]), 0);
    if (waitMs !== undefined) pairs.push(RETRY_AFTER, String(Math.ceil(waitMs / 1_000)));
  }
  pairs.push("content-type", type);
  if (length !== undefined) pairs.push("content-length", String(length));
  return pairs;
}
