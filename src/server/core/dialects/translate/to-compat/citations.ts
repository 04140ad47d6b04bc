/**
 * Converts citations of a web search to annotations of the text that cites them. Source: dialects reference, 3.2 and 8.5.
 *
 * Offsets count characters, not UTF-16 units, from the start of the message's content. Other kinds of citation have no
 * equivalent.
 */
import { listOf, objectOf, stringOf, type Values } from "../../json/json-values.ts";

/** Web page that a text cites. */
export interface CitedPage {
  readonly title: string;
  readonly url: string;
}

/** Text block whose citations are collected. */
export interface CitingBlock {
  /** Number of characters before the block. */
  readonly start: number;
  readonly pages: CitedPage[];
}

/** Collects the annotations of an answer. A block is opened, gets texts and citations, and is closed. */
export class Annotations {
  #characters = 0;
  readonly #all: object[] = [];

  get all(): readonly object[] {
    return this.#all;
  }

  open(): CitingBlock {
    return { start: this.#characters, pages: [] };
  }

  countText(text: string): void {
    this.#characters += charactersIn(text);
  }

  close({ start, pages }: CitingBlock): void {
    for (const page of pages) {
      const url_citation = { start_index: start, end_index: this.#characters, ...page };
      this.#all.push({ type: "url_citation", url_citation });
    }
  }
}

/** Returns the pages that a whole block cites. */
export const citedPages = (block: Values): readonly CitedPage[] =>
  listOf(block["citations"]).flatMap((citation) => citedPage(citation) ?? []);

/** Returns the page of a citation, or `undefined` if it cites something else. */
export function citedPage(value: unknown): CitedPage | undefined {
  const citation = objectOf(value);
  const url = citation?.["type"] === "web_search_result_location" ? stringOf(citation["url"]) : undefined;
  return url === undefined ? undefined : { title: stringOf(citation?.["title"]) ?? "", url };
}

/** Returns the number of code points. */
export function charactersIn(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}
