/** Parts of a Markdown file for tests: fenced blocks, links, and link targets. */

import { slugOf } from "../../docs/.vitepress/slug.ts";

export interface Block {
  /** Language, the first word after the fence; empty if there is none. */
  readonly language: string;
  /** Whether the block is declared a part (`yaml fragment`). */
  readonly isFragment: boolean;
  readonly text: string;
  /** Line of the opening fence, from 1. */
  readonly line: number;
}

interface Link {
  readonly target: string;
  readonly line: number;
}

export interface MarkdownParts {
  readonly blocks: readonly Block[];
  readonly links: readonly Link[];
  readonly ids: ReadonlySet<string>;
  /** Text outside code. */
  readonly prose: readonly { readonly text: string; readonly line: number }[];
}

const FENCE = /^(\s*)(`{3,}|~{3,})\s*(.*)$/;

export function partsOf(markdown: string): MarkdownParts {
  const blocks: Block[] = [];
  const links: Link[] = [];
  const prose: { text: string; line: number }[] = [];
  const ids = new Set<string>();
  const seen = new Map<string, number>();
  const lines = markdown.split("\n");
  const begin = lines[0] === "---" ? lines.indexOf("---", 1) + 1 : 0;
  for (let at = begin; at < lines.length; at += 1) {
    const text = lines[at] ?? "";
    const fence = FENCE.exec(text);
    if (fence !== null) {
      const [, , marks = "", info = ""] = fence;
      const end = lines.findIndex(
        (it, index) => index > at && it.trim().startsWith(marks) && it.trim().endsWith(marks),
      );
      const last = end === -1 ? lines.length : end;
      const [language = "", ...words] = info.trim().split(/\s+/);
      const body = lines.slice(at + 1, last).join("\n");
      blocks.push({ language, isFragment: words.includes("fragment"), text: body, line: at + 1 });
      at = last;
      continue;
    }
    const heading = /^#{1,6} +(.*?)\s*$/.exec(text)?.[1];
    if (heading !== undefined) {
      const slug = slugOf(heading.replace(/[`*]/g, "").replace(/\[([^\]]*)\]\([^)]*\)/g, "$1"));
      const count = seen.get(slug) ?? 0;
      seen.set(slug, count + 1);
      ids.add(count === 0 ? slug : `${slug}-${count}`);
    }
    for (const [, id = ""] of text.matchAll(/<a id="([^"]+)">/g)) ids.add(id);
    const plain = text.replace(/(`+).+?\1/g, "");
    prose.push({ text: plain, line: at + 1 });
    // An image inside a link is a link of its own.
    for (const [, target = ""] of plain.matchAll(/\]\(([^()\s]+(?:\([^()]*\))?)(?:\s+"[^"]*")?\)/g))
      links.push({ target, line: at + 1 });
  }
  return { blocks, links, ids, prose };
}
