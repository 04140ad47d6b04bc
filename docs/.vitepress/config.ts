/**
 * The documentation site. Pages are Markdown files of the repository (`pages.ts`); nothing here has to be edited for a new one.
 *
 * `DOCS_REPOSITORY` is the address of the repository at its code host. With it, pages have edit links, and links to files lead
 * there; it defaults to `repository` in package.json. `DOCS_BASE` is the path below which the site is served.
 */

import { readFileSync } from "node:fs";
import { copyFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitepress";
import { resolveLink } from "./links.ts";
import { llmsFiles } from "./llms.ts";
import { markdownFiles } from "./markdown-files.ts";
import { sidebarOf, sitePathOf } from "./pages.ts";
import { slugOf } from "./slug.ts";

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), "../..");
const { description, repository: stated } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
const REPOSITORY: string | undefined = process.env["DOCS_REPOSITORY"] || (stated?.url ?? stated) || undefined;

const paths = markdownFiles(ROOT);
const pages = paths.map((path) => ({ path, text: readFileSync(join(ROOT, path), "utf8") }));
/** Files that pages link to, found while pages are rendered. */
const copied = new Set<string>();

export default defineConfig({
  title: "gateway",
  description,
  lang: "en-US",
  base: process.env["DOCS_BASE"] || "/",
  srcDir: ROOT,
  outDir: join(ROOT, "site"),
  cacheDir: join(ROOT, "docs/node_modules/.cache/vitepress"),
  srcExclude: ["**/*.md", ...paths.map((path) => `!${path}`)],
  rewrites: (path) => sitePathOf(path) ?? path,
  cleanUrls: true,
  lastUpdated: false,
  ignoreDeadLinks: [/^\/files\//],
  markdown: {
    anchor: { slugify: slugOf },
    toc: { slugify: slugOf },
    languageAlias: { promql: "text", cel: "text", cedar: "text" },
    config(md) {
      md.core.ruler.push("repository-links", (state) => {
        const from = String(state.env.relativePath ?? "");
        const source = String(state.env.realPath ?? from);
        const path = paths.find((it) => source.endsWith(it) || sitePathOf(it) === from) ?? from;
        for (const token of state.tokens.flatMap(({ children }) => children ?? [])) {
          const target = token.type === "link_open" ? token.attrGet("href") : null;
          if (target === null) continue;
          const { href, copied: file } = resolveLink(ROOT, path, target, REPOSITORY);
          token.attrSet("href", href ?? "#");
          if (file !== undefined) copied.add(file);
        }
      });
      const fence = md.renderer.rules.fence;
      md.renderer.rules.fence = (tokens, at, options, env, self) => {
        const token = tokens[at];
        if (token?.info.trim() === "mermaid") return `<MermaidDiagram code="${encodeURIComponent(token.content)}" />\n`;
        return fence?.(tokens, at, options, env, self) ?? "";
      };
      const text = md.renderer.rules.text;
      md.renderer.rules.text = (tokens, at, options, env, self) =>
        (text?.(tokens, at, options, env, self) ?? "").replaceAll("{{", "&#123;&#123;");
    },
  },
  async buildEnd({ outDir }) {
    for (const path of copied) {
      const to = join(outDir, "files", path);
      await mkdir(dirname(to), { recursive: true });
      await copyFile(join(ROOT, path), to);
    }
    for (const [path, content] of llmsFiles(pages, description)) {
      await mkdir(dirname(join(outDir, path)), { recursive: true });
      await writeFile(join(outDir, path), content);
    }
    for (const name of ["node-file", "deployment"]) {
      const schema = `reference/schemas/${name}.schema.json`;
      await mkdir(join(outDir, "reference/schemas"), { recursive: true });
      await writeFile(join(outDir, schema), await readFile(join(ROOT, "docs", schema)));
    }
  },
  themeConfig: {
    search: { provider: "local" },
    outline: [2, 3],
    sidebar: sidebarOf(pages) as never,
    nav: [
      { text: "Guides", link: "/guides/providers" },
      { text: "Operate", link: "/operate/runbook" },
      { text: "Reference", link: "/reference/" },
    ],
    ...(REPOSITORY !== undefined && {
      editLink: { pattern: `${REPOSITORY}/edit/main/:path`, text: "Edit this page" },
      socialLinks: [{ icon: "git", link: REPOSITORY }],
    }),
  },
  vite: { publicDir: false, resolve: { preserveSymlinks: true } },
});
