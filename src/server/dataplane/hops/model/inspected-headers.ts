/** Headers of an answer whose body was inspected. */
import { HEADERS_OF_THE_BODY, inUtf8, type Mending } from "../../../answers/index.ts";
import { lowerCase } from "../../headers.ts";

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
    } else if (HEADERS_OF_THE_BODY.has(lower)) {
      // It is of other bytes.
    } else if (isTranscoded && lower === "content-type") {
      kept.push(name, Buffer.from(inUtf8(value.toString("latin1")), "latin1"));
    } else kept.push(name, value);
  }
  return kept;
}
