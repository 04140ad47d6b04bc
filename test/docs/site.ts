/** The pages of the site, each made of a document of the repository or of what the program says of itself. */

import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { deploymentJsonSchema, nodeFileJsonSchema } from "../../src/server/core/config/index.ts";
import { escaped, type Heading, render } from "./markdown.ts";
import { errorReference, metricReference, type Reference, schemaReference, verbReference } from "./reference.ts";

interface Page {
  readonly file: string;
  readonly title: string;
  readonly group: string;
  readonly html: string;
  readonly entries: readonly { readonly title: string; readonly id: string }[];
}

export interface Site {
  /** By name, all of them in one folder but what was copied. */
  readonly pages: ReadonlyMap<string, string>;
  /** Files of the repository that pages refer to, by their path in it. */
  readonly copied: ReadonlySet<string>;
}

/** Pages of the guide below `docs/`, by path without its ending. */
const guideOf = (root: string): readonly string[] =>
  readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" })
    .filter((name) => /^[a-zA-Z0-9/-]+\.md$/.test(name))
    .map((name) => name.slice(0, -".md".length))
    .sort();

const DOCUMENTS = {
  "CHANGELOG.md": "changelog.html",
  "SECURITY.md": "security.html",
  "CONTRIBUTING.md": "contributing.html",
} as const;

/** Files of an example that are shown whole are no longer than this; the others are named. */
const MAX_SHOWN_BYTES = 20_000;

export function siteOf(root: string): Site {
  const copied = new Set<string>();
  const read = (path: string): string => readFileSync(join(root, path), "utf8");
  const guide = guideOf(root);
  const linkFrom =
    (document: string) =>
    (target: string): string | undefined => {
      if (/^[a-z]+:/.test(target)) return target;
      const [path = "", anchor] = target.split("#");
      const hash = anchor === undefined ? "" : `#${anchor}`;
      if (path === "") return hash;
      const whole = normalize(join(dirname(document), path));
      const page = pageOf(whole);
      if (page !== undefined) return `${page}${hash}`;
      if (!existsSync(join(root, whole))) throw new Error(`${document} links to ${target}, which is not there`);
      // A folder has no page; its name stands without a link.
      if (statSync(join(root, whole)).isDirectory()) return undefined;
      copied.add(whole);
      return whole;
    };
  const rendered = (
    file: string,
    title: string,
    group: string,
    document: string,
    markdown: string,
    more = "",
  ): Page => {
    const { html, headings } = render(markdown, linkFrom(document));
    return { file, title, group, html: html + more, entries: headings.filter(({ level }) => level > 1).map(entryOf) };
  };
  const guidePage = (name: string): Page => {
    const document = `docs/${name}.md`;
    const markdown = read(document);
    return rendered(fileOf(name), titleOf(markdown) ?? name, "Guide", document, markdown);
  };
  const words = (text: string): string => render(text, linkFrom("README.md")).html.replace(/^<p>|<\/p>$/g, "");
  const referred = (file: string, title: string, { html, entries }: Reference): Page => ({
    file,
    title,
    group: "Reference",
    html: `<h1>${escaped(title)}</h1>${html}`,
    entries,
  });
  const pages: readonly Page[] = [
    rendered("index.html", "What it is", "Guide", "README.md", read("README.md")),
    ...guide.map(guidePage),
    referred("deployment.html", "Deployment document", schemaReference(deploymentJsonSchema(), words)),
    referred("node-file.html", "Node file", schemaReference(nodeFileJsonSchema(), words)),
    referred("verbs.html", "Verbs", verbReference()),
    referred("errors.html", "Errors", errorReference(words)),
    referred("metrics.html", "Metrics", metricReference(root)),
    ...examplesOf(root).map((name) => {
      const document = `examples/${name}/README.md`;
      const markdown = read(document);
      return rendered(
        `example-${name}.html`,
        titleOf(markdown) ?? name,
        "Examples",
        document,
        markdown,
        filesOf(root, `examples/${name}`),
      );
    }),
    ...Object.entries(DOCUMENTS).map(([document, file]) =>
      rendered(
        file,
        document
          .replace(".md", "")
          .toLowerCase()
          .replace(/^./, (it) => it.toUpperCase()),
        "Project",
        document,
        read(document),
      ),
    ),
  ];
  const index = pages.flatMap(({ file, title, entries }) => [
    [title, "", file],
    ...entries.map((entry) => [entry.title, title, `${file}#${entry.id}`]),
  ]);
  return {
    pages: new Map([
      ...pages.map((page) => [page.file, wholePage(page, pages)] as const),
      ["search-index.js", `const INDEX = ${JSON.stringify(index)};\n`],
    ]),
    copied,
  };
}

/** The guide's security page must not replace that of SECURITY.md. */
const fileOf = (name: string): string => `${name === "security" ? "docs-security" : name.replaceAll("/", "-")}.html`;

const titleOf = (markdown: string): string | undefined => /^# +(.*)$/m.exec(markdown)?.[1]?.replaceAll("`", "");

const entryOf = ({ text, id }: Heading) => ({ title: text, id });

const examplesOf = (root: string): readonly string[] =>
  readdirSync(join(root, "examples"))
    .filter((name) => existsSync(join(root, "examples", name, "README.md")))
    .sort();

function pageOf(path: string): string | undefined {
  if (path === "README.md") return "index.html";
  const guide = /^docs\/([a-zA-Z0-9/-]+)\.md$/.exec(path)?.[1];
  if (guide !== undefined) return fileOf(guide);
  const example = /^examples\/([^/]+)(?:\/(?:README\.md)?)?$/.exec(path)?.[1];
  if (example !== undefined) return `example-${example}.html`;
  return Object.hasOwn(DOCUMENTS, path) ? DOCUMENTS[path as keyof typeof DOCUMENTS] : undefined;
}

function filesOf(root: string, folder: string): string {
  const files = readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).sort();
  const shown = files.flatMap((name) => {
    const path = join(root, folder, name);
    if (name === "README.md" || !statSync(path).isFile() || statSync(path).size > MAX_SHOWN_BYTES) return [];
    return [
      `<details><summary><code>${escaped(name)}</code></summary><pre tabindex="0"><code>${escaped(readFileSync(path, "utf8"))}</code></pre></details>`,
    ];
  });
  return shown.length === 0 ? "" : `<h2 id="files">Files</h2>${shown.join("")}`;
}

const GROUPS = ["Guide", "Reference", "Examples", "Project"];

/** For the front page: all of them, where a small screen has its menu at the end. */
function overviewOf(pages: readonly Page[]): string {
  const sections = GROUPS.map((group) => {
    const items = pages.filter((it) => it.group === group && it.file !== "index.html");
    return `<section><h2>${group}</h2><ul>${items.map(({ file, title }) => `<li><a href="${file}">${escaped(title)}</a></li>`).join("")}</ul></section>`;
  });
  return `<div class="pages">${sections.join("")}</div>`;
}

function wholePage(page: Page, pages: readonly Page[]): string {
  const lists = GROUPS.map((group) => {
    const items = pages
      .filter((it) => it.group === group)
      .map(
        ({ file, title }) =>
          `<li><a href="${file}"${file === page.file ? ' aria-current="page"' : ""}>${escaped(title)}</a></li>`,
      );
    return `<details${group === page.group || group === "Guide" ? " open" : ""}><summary>${group}</summary><ul>${items.join("")}</ul></details>`;
  });
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escaped(page.title)} · gateway</title>
<link rel="stylesheet" href="style.css">
</head>
<body>
<a class="skip" href="#main">To the text</a>
<a class="menu" href="#pages">gateway: pages and search</a>
<nav id="pages" aria-label="Pages"><p class="name"><a href="index.html">gateway</a></p><input id="search" type="search" placeholder="Search" aria-label="Search" hidden><ul id="found"></ul>${lists.join("")}</nav>
<main id="main">
${page.html}${page.file === "index.html" ? overviewOf(pages) : ""}
</main>
<script src="search-index.js"></script><script src="search.js"></script>
</body>
</html>
`;
}
