/** Segments of a request for its guard, and the texts to rewrite. Shared by the hops and the inspector. */
import { headerTexts, type MessageText, queryTexts } from "../dialects/index.ts";
import type { Guard } from "./guard.ts";
import type { Judgement } from "./judgement.ts";
import type { Segment } from "./types.ts";

/** Written out: there may be a hundred thousand, and a copy by spread takes ten times as long. */
export const segmentOf = ({ kind, text, turn, isReadOnly }: MessageText): Segment => ({
  kind,
  text,
  ref: "",
  turn,
  isReadOnly,
});

/**
 * Values of headers and of the query, where a detector in force reads them. `rawHeaders`: names and values in turn, one
 * character a byte. `query`: with its question mark, or empty.
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
