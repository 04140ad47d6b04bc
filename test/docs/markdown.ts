/**
 * Markdown to HTML: what the documents of this repository write, and nothing else of it. Headings, paragraphs, lists, tables,
 * fenced code, quotes, links, pictures, code, bold; `<details>` with its summary stays. All other text is escaped.
 */

export interface Rendered {
  readonly html: string;
  readonly headings: readonly Heading[];
}

export interface Heading {
  readonly level: number;
  readonly id: string;
  readonly text: string;
}

/** `linkOf` gives what a link of the document leads to on the site; undefined: its words stand without one. */
export function render(markdown: string, linkOf: (target: string) => string | undefined): Rendered {
  const lines = markdown.replace(/<!--.*?-->/gs, "").split("\n");
  const headings: Heading[] = [];
  const ids = new Map<string, number>();
  const out: string[] = [];
  const inline = (text: string): string => inlineOf(text, linkOf);
  for (let at = 0; at < lines.length; ) {
    const line = lines[at] ?? "";
    const heading = /^(#{1,6}) +(.*?)\s*$/.exec(line);
    if (line.trim() === "") at += 1;
    else if (/^```/.test(line)) {
      const end = lines.findIndex((it, index) => index > at && /^```\s*$/.test(it));
      out.push(`<pre tabindex="0"><code>${escaped(lines.slice(at + 1, end).join("\n"))}</code></pre>`);
      at = end + 1;
    } else if (heading !== null) {
      const [, marks = "", words = ""] = heading;
      const plain = words.replace(/[`*]/g, "").replace(/\[([^\]]*)\]\([^)]*\)/g, "$1");
      const base = slug(plain);
      const count = ids.get(base) ?? 0;
      ids.set(base, count + 1);
      const id = count === 0 ? base : `${base}-${count}`;
      headings.push({ level: marks.length, id, text: plain });
      out.push(`<h${marks.length} id="${id}">${inline(words)}</h${marks.length}>`);
      at += 1;
    } else if (/^<\/?details>|^<details><summary>/.test(line)) {
      const summary = /<summary>(.*?)<\/summary>/.exec(line)?.[1];
      out.push(
        line.startsWith("</")
          ? "</details>"
          : `<details>${summary === undefined ? "" : `<summary>${inline(summary.replace(/<\/?code>/g, "`"))}</summary>`}`,
      );
      at += 1;
    } else if (/^\|/.test(line)) {
      const end = endOf(lines, at, (it) => /^\|/.test(it));
      out.push(table(lines.slice(at, end), inline));
      at = end;
    } else if (/^\s*([-*]|\d+\.) /.test(line)) {
      const end = endOf(lines, at, (it) => /^\s*([-*]|\d+\.) |^\s+\S/.test(it));
      out.push(list(lines.slice(at, end), inline));
      at = end;
    } else if (/^> ?/.test(line)) {
      const end = endOf(lines, at, (it) => /^>/.test(it));
      out.push(
        `<blockquote><p>${inline(
          lines
            .slice(at, end)
            .map((it) => it.replace(/^> ?/, ""))
            .join(" "),
        )}</p></blockquote>`,
      );
      at = end;
    } else {
      const end = endOf(
        lines,
        at,
        (it) => it.trim() !== "" && !/^(```|#{1,6} |\||<\/?details|> |[-*] |\d+\. )/.test(it),
      );
      out.push(`<p>${inline(lines.slice(at, Math.max(end, at + 1)).join("\n"))}</p>`);
      at = Math.max(end, at + 1);
    }
  }
  return { html: out.join("\n"), headings };
}

function endOf(lines: readonly string[], from: number, goesOn: (line: string) => boolean): number {
  let at = from;
  while (at < lines.length && goesOn(lines[at] ?? "")) at += 1;
  return at;
}

export const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");

/** As hosts of repositories make it, so that links within a document hold. */
export const slug = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");

function inlineOf(text: string, linkOf: (target: string) => string | undefined): string {
  const kept: string[] = [];
  const keep = (html: string): string => `\ue000${kept.push(html) - 1}\ue000`;
  const restored = (html: string): string =>
    html.replace(/\ue000(\d+)\ue000/g, (_, at: string) => restored(kept[Number(at)] ?? ""));
  const link = (words: string, target: string): string => {
    const to = linkOf(target);
    const html = strong(escaped(words));
    return keep(to === undefined ? html : `<a href="${escaped(to)}">${html}</a>`);
  };
  const marked = text
    .replace(/(`+)(.+?)\1/gs, (_, __, code: string) =>
      keep(`<code>${escaped(code.replaceAll("\\|", "|").replaceAll("\n", " "))}</code>`),
    )
    .replace(/!\[([^\]]*)\]\(([^)\s]+)\)/g, (_, words: string, target: string) =>
      keep(`<img src="${escaped(linkOf(target) ?? target)}" alt="${escaped(words)}" loading="lazy">`),
    )
    .replace(/\[([^\]]*)\]\(([^)\s]+)\)/g, (_, words: string, target: string) => link(words, target));
  return restored(strong(escaped(marked)));
}

const strong = (html: string): string => html.replace(/\*\*(.+?)\*\*/gs, "<strong>$1</strong>");

function table(lines: readonly string[], inline: (text: string) => string): string {
  const rows = lines.map((line) =>
    line
      .trim()
      .replace(/^\||\|$/g, "")
      .split(/(?<!\\)\|/)
      .map((cell) => cell.trim().replaceAll("\\|", "|")),
  );
  const [head = [], , ...body] = rows;
  const cells = (row: readonly string[], tag: string): string =>
    `<tr>${row.map((cell) => `<${tag}>${inline(cell)}</${tag}>`).join("")}</tr>`;
  return `<div class="table" tabindex="0"><table><thead>${cells(head, "th")}</thead><tbody>${body.map((row) => cells(row, "td")).join("")}</tbody></table></div>`;
}

function list(lines: readonly string[], inline: (text: string) => string): string {
  const items: string[] = [];
  for (const line of lines) {
    const item = /^\s*(?:[-*]|\d+\.) +(.*)$/.exec(line);
    if (item !== null) items.push(item[1] ?? "");
    else items.push(`${items.pop() ?? ""}\n${line.trim()}`);
  }
  const tag = /^\s*\d+\./.test(lines[0] ?? "") ? "ol" : "ul";
  return `<${tag}>${items.map((item) => `<li>${inline(item)}</li>`).join("")}</${tag}>`;
}
