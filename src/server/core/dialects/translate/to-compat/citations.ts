/**
 * Citations of a web search as annotations of the text that rests on them. Source: dialects reference, 3.2 and 8.5.
 *
 * Places count characters, not UTF-16 units, from the start of the message's content. Other kinds of citation have no
 * equivalent.
 */
import { listOf, objectOf, stringOf, type Values } from "../../values.ts";

/** `before`: the content that stands before the block; `text`: the block's own. */
export function annotationsOf(block: Values, before: string, text: string): readonly object[] {
  const cited = listOf(block["citations"]).flatMap((value) => {
    const citation = objectOf(value);
    const url = citation?.["type"] === "web_search_result_location" ? stringOf(citation["url"]) : undefined;
    return url === undefined ? [] : [{ title: stringOf(citation?.["title"]) ?? "", url }];
  });
  if (cited.length === 0) return [];
  const start = charactersIn(before);
  const end = start + charactersIn(text);
  return cited.map(({ title, url }) => ({
    type: "url_citation",
    url_citation: { start_index: start, end_index: end, title, url },
  }));
}

function charactersIn(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}
