/**
 * Reads the sources of an answer that providers with a web search write beside the choices: addresses in `citations` (Perplexity,
 * xAI), and pages in `search_results` (Perplexity). A stream repeats the lists, and the last ones are complete.
 */
import { listOf, objectOf, stringOf, type Values } from "../../json/json-values.ts";

/** Names of the members. */
export const SOURCE_MEMBERS = ["citations", "search_results"] as const;

/**
 * Returns the sources as annotations of the whole text, each address once, in the order in which the text numbers them. Titles are
 * empty where none is given.
 */
export function sourceAnnotations(answer: Values): readonly Values[] {
  const titles = new Map<string, string>();
  for (const name of SOURCE_MEMBERS) for (const source of listOf(answer[name])) addSource(titles, source);
  return [...titles].map(([url, title]) => ({ type: "url_citation", url_citation: { url, title } }));
}

function addSource(titles: Map<string, string>, source: unknown): void {
  const page = objectOf(source);
  const url = stringOf(page === undefined ? source : page["url"]);
  if (url === undefined || !WEB_PAGE.test(url)) return;
  titles.set(url, titles.get(url) || stringOf(page?.["title"]) || "");
}

const WEB_PAGE = /^https?:\/\//i;
