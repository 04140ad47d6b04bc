/** Files for language models: `llms.txt` lists all pages, `llms-full.txt` has their text, and each page is there as Markdown. */

import { type SidebarItem, type SourcePage, sidebarOf, sitePathOf } from "./pages.ts";

const withoutFrontMatter = (text: string): string => text.replace(/^---\n[\s\S]*?\n---\n/, "").trim();

/** Returns the first paragraph of prose. */
function firstSentence(text: string): string {
  const paragraphs = withoutFrontMatter(text).split(/\n{2,}/);
  const prose = paragraphs.find((it) => /^[A-Z`]/.test(it)) ?? "";
  return (/^.*?[.](?= |$)/s.exec(prose)?.[0] ?? prose).replace(/\s+/g, " ").replace(/\[([^\]]*)\]\([^)]*\)/g, "$1");
}

const markdownOf = (link: string): string => `${link.replace(/\/$/, "/index").replace(/^\//, "")}.md`;

function linesOf(items: readonly SidebarItem[], aboutOf: (path: string) => string): readonly string[] {
  return items.flatMap(({ text, link, items: below = [] }) => [
    ...(link === undefined ? [] : [`- [${text}](${markdownOf(link)}): ${aboutOf(markdownOf(link))}`]),
    ...linesOf(below, aboutOf),
  ]);
}

/** Text of each file, by its path in the site. */
export function llmsFiles(pages: readonly SourcePage[], description: string): ReadonlyMap<string, string> {
  const texts = new Map(pages.map((page) => [sitePathOf(page.path) ?? page.path, withoutFrontMatter(page.text)]));
  const sections = sidebarOf(pages).map(({ text, link, items = [] }) => {
    const own = link === undefined ? [] : [{ text, link }];
    return `## ${text}\n\n${linesOf([...own, ...items], (path) => firstSentence(texts.get(path) ?? "")).join("\n")}`;
  });
  const full = [...texts].map(([path, text]) => `<!-- ${path} -->\n\n${text}`);
  return new Map([
    ["llms.txt", `# gateway\n\n> ${description}\n\n${sections.join("\n\n")}\n`],
    ["llms-full.txt", `${full.join("\n\n")}\n`],
    ...[...texts].map(([path, text]) => [path, `${text}\n`] as const),
  ]);
}
