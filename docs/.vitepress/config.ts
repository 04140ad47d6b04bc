/**
 * The documentation site. Pages are Markdown files of the repository (`pages.ts`); nothing here has to be edited for a new one.
 *
 * `DOCS_REPOSITORY` is the address of the repository at its code host. With it, pages have edit links, and links to files lead
 * there; it defaults to `repository` in package.json. `DOCS_BASE` is the path below which the site is served.
 */

import { readFileSync } from "node:fs";
import { copyFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitepress";
import { resolveLink } from "./links.ts";
import { llmsFiles } from "./llms.ts";
import { markdownFiles, otherFolders } from "./markdown-files.ts";
import { sidebarOf, sitePathOf } from "./pages.ts";
import { slugOf } from "./slug.ts";

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), "../..");
const DOCS = join(ROOT, "docs");
const { description, repository: stated } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
const REPOSITORY: string | undefined = process.env["DOCS_REPOSITORY"] || (stated?.url ?? stated) || undefined;

/** Languages of blocks that the highlighter does not know. */
const PLAIN: ReadonlySet<string> = new Set(["cedar", "cel", "promql"]);

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
  cacheDir: join(DOCS, "node_modules/.cache/vitepress"),
  srcExclude: otherFolders(ROOT).map((name) => `${name}/**`),
  rewrites: (path) => sitePathOf(path) ?? path,
  cleanUrls: true,
  lastUpdated: false,
  ignoreDeadLinks: [/^\/files\//],
  markdown: {
    anchor: { slugify: slugOf },
    toc: { slugify: slugOf },
    config(md) {
      md.core.ruler.push("repository-links", (state) => {
        const { path: file = "", realPath = file, relativePath = "" } = state.env as Readonly<Record<string, string>>;
        const inRoot = relative(ROOT, realPath).replaceAll("\\", "/");
        const path = paths.find((it) => it === inRoot) ?? paths.find((it) => sitePathOf(it) === relativePath) ?? inRoot;
        for (const token of state.tokens.flatMap(({ children }) => children ?? [])) {
          const target = token.type === "link_open" ? token.attrGet("href") : null;
          if (target === null) continue;
          const { href, copied: linked } = resolveLink(ROOT, path, target, REPOSITORY);
          token.attrSet("href", href ?? "#");
          if (linked !== undefined) copied.add(linked);
        }
      });
      const fence = md.renderer.rules.fence;
      md.renderer.rules.fence = (tokens, at, options, env, self) => {
        const token = tokens[at];
        if (token?.info.trim() === "mermaid") return `<MermaidDiagram code="${encodeURIComponent(token.content)}" />\n`;
        if (token !== undefined && PLAIN.has(token.info.split(" ")[0] ?? "")) token.info = "text";
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
  vite: {
    publicDir: false,
    plugins: [
      {
        name: "vue-beside-docs",
        enforce: "pre",
        /** Pages outside of docs/ would look for Vue beside themselves. */
        async resolveId(source, importer) {
          if (!/^vue($|\/)/.test(source) || importer === undefined || importer.startsWith(DOCS)) return null;
          return await this.resolve(source, join(DOCS, "README.md"), { skipSelf: true });
        },
      },
    ],
  },
});
