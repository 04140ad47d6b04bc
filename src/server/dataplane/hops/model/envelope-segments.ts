/** What a request says beside its body, as its guard reads it. */
import type { IncomingMessage } from "node:http";
import { headerTexts, queryTexts } from "../../../core/dialects/index.ts";
import type { Segment } from "../../../core/guardrails/index.ts";
import type { Guard } from "../../../snapshot/index.ts";

/** Values of headers and of the query, where a detector in force reads them. `query`: with its question mark, or empty. */
export function envelopeSegments(
  { kinds }: Pick<Guard, "kinds">,
  { rawHeaders }: Pick<IncomingMessage, "rawHeaders">,
  query: string,
): readonly Segment[] {
  const headers = kinds.has("header") ? headerTexts(rawHeaders) : [];
  return kinds.has("query") ? [...headers, ...queryTexts(query)] : headers;
}
