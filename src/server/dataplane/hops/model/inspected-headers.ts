/** Adapts the headers of an answer whose body was inspected. */
import { BODY_DIGEST_HEADERS, type BodyChange, withUtf8Charset } from "../../../answers/index.ts";
import { lowerCase } from "../../headers.ts";

export function changedHeaders(headers: readonly string[], change: BodyChange): readonly string[] {
  const { isStream = false, isRewritten = false, isDecoded = false, isTranscoded = false, length } = change;
  if (!isStream && !isRewritten && !isDecoded) return headers;
  const kept: string[] = [];
  for (let at = 0; at < headers.length; at += 2) {
    const name = headers[at] as string;
    const value = headers[at + 1] as string;
    const lower = lowerCase(name);
    if (lower === "content-length") {
      if (!isStream) kept.push(name, String(length));
    } else if (isDecoded && lower === "content-encoding") {
      // This header is dropped, because the body was decoded.
    } else if (BODY_DIGEST_HEADERS.has(lower)) {
      // This header is dropped, because it describes the original bytes.
    } else if (isTranscoded && lower === "content-type") {
      kept.push(name, withUtf8Charset(value));
    } else kept.push(name, value);
  }
  return kept;
}
