/** Segments of a request for its guard, and the rewritten texts. Shared by the data plane and the inspector. */
import { headerTexts, type MessageText, queryTexts } from "../dialects/index.ts";
import type { Judgement } from "./judgement.ts";
import type { Guard } from "./population-guard.ts";
import type { Segment } from "./types.ts";

/**
 * Returns the segment of a text. The fields are written out, since there may be 100,000 segments and an object spread takes ten
 * times as long.
 */
export const segmentOf = ({ kind, text, turn, isReadOnly }: MessageText): Segment => ({
  kind,
  text,
  ref: "",
  turn,
  isReadOnly,
});

/**
 * Returns segments of headers and query, if an active detector reads them. `rawHeaders` alternates names and values, one
 * character per byte. `query` starts with its question mark, or is empty.
 */
export function envelopeSegments(
  { kinds }: Pick<Guard, "kinds">,
  rawHeaders: readonly string[],
  query: string,
): readonly Segment[] {
  const headers = kinds.has("header") ? headerTexts(rawHeaders) : [];
  return kinds.has("query") ? [...headers, ...queryTexts(query)] : headers;
}

/** Returns the new text by segment; `undefined` if nothing was rewritten. */
export function changesOf(judgement: Judgement | undefined): readonly (string | undefined)[] | undefined {
  if (judgement?.outcome !== "allow" || judgement.rewrites.every((one) => one === undefined)) return undefined;
  return judgement.rewrites.map((one) => one?.text);
}
