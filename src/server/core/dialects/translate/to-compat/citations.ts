/**
 * Converts citations of a web search to annotations of the text that cites them. Source: dialects reference, 3.2 and 8.5.
 *
 * Offsets count characters, not UTF-16 units, from the start of the message's content. Other kinds of citation have no
 * equivalent.
 */
import { listOf, objectOf, stringOf, type Values } from "../../json/json-values.ts";

/** Returns a function that takes each text block of an answer in order, with its text, and returns its annotations. */
export function openAnnotations(): (block: Values, text: string) => readonly object[] {
  let counted = 0;
  let uncounted = "";
  return (block, text) => {
    const cited = listOf(block["citations"]).flatMap(citedPage);
    if (cited.length === 0) {
      uncounted += text;
      return [];
    }
    const start_index = counted + charactersIn(uncounted);
    const end_index = start_index + charactersIn(text);
    counted = end_index;
    uncounted = "";
    return cited.map((page) => ({ type: "url_citation", url_citation: { start_index, end_index, ...page } }));
  };
}

function citedPage(value: unknown): readonly { readonly title: string; readonly url: string }[] {
  const citation = objectOf(value);
  const url = citation?.["type"] === "web_search_result_location" ? stringOf(citation["url"]) : undefined;
  return url === undefined ? [] : [{ title: stringOf(citation?.["title"]) ?? "", url }];
}

function charactersIn(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}
