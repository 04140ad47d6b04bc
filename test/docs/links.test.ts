/** Links of all Markdown files: each leads to an existing file and heading. Needs only the files. */

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, normalize, resolve } from "node:path";
import { test } from "node:test";
import { markdownFiles } from "../../docs/.vitepress/markdown-files.ts";
import { sidebarOf, sitePathOf } from "../../docs/.vitepress/pages.ts";
import { type MarkdownParts, partsOf } from "./markdown-parts.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const PATHS = markdownFiles(ROOT);
const texts = new Map(PATHS.map((path) => [path, readFileSync(join(ROOT, path), "utf8")]));
const parts = new Map<string, MarkdownParts>([...texts].map(([path, text]) => [path, partsOf(text)]));

const isExternal = (target: string): boolean => /^[a-z][a-z0-9+.-]*:/i.test(target);

function faultOf(from: string, target: string): string | undefined {
  const [path = "", id] = target.split("#");
  const whole = path === "" ? from : normalize(join(dirname(from), decodeURI(path))).replaceAll("\\", "/");
  if (!existsSync(join(ROOT, whole))) return "no such file";
  if (id === undefined) return undefined;
  const page =
    parts.get(whole) ?? (whole.endsWith(".md") ? partsOf(readFileSync(join(ROOT, whole), "utf8")) : undefined);
  if (page === undefined) return undefined;
  return page.ids.has(decodeURI(id)) ? undefined : "no such heading";
}

test("every link leads to an existing file and heading", () => {
  assert.ok(PATHS.length > 60, `${PATHS.length} files`);
  const broken = [...parts].flatMap(([path, { links }]) =>
    links.flatMap(({ target, line }) => {
      const fault = isExternal(target) ? undefined : faultOf(path, target);
      return fault === undefined ? [] : [`${path}:${line}: ${target}: ${fault}`];
    }),
  );
  assert.deepEqual(broken, []);
});

/** Tags that a page may use. Any other would be lost in one of its two renderings. */
const TAGS = /<\/?(?!(?:a|br|details|summary|img|kbd|sub|sup|p|picture|source)\b)[A-Za-z][^>]*>/;

test("no text outside code looks like markup or a site expression", () => {
  const found = [...parts].flatMap(([path, { prose }]) =>
    prose
      .filter(({ text }) => TAGS.test(text.replace(/<!--.*?-->/g, "")))
      .map(({ text, line }) => `${path}:${line}: ${text.trim().slice(0, 100)}`),
  );
  assert.deepEqual(found, []);
});

test("each page has one title, its own address, and a place in the sidebar", () => {
  const addresses = PATHS.map((path) => sitePathOf(path));
  assert.deepEqual(
    addresses.filter((path, at) => addresses.indexOf(path) !== at),
    [],
  );
  for (const [path, text] of texts) {
    const titles = partsOf(text).prose.filter(({ text: line }) => /^# /.test(line));
    assert.equal(titles.length, 1, `${path} has ${titles.length} titles`);
  }
  const shown = JSON.stringify(sidebarOf([...texts].map(([path, text]) => ({ path, text }))));
  for (const path of PATHS) {
    const address = `/${sitePathOf(path)
      ?.replace(/\.md$/, "")
      .replace(/(^|\/)index$/, "$1")}`;
    assert.ok(address === "/" || shown.includes(`"link":"${address}"`), `${path} is not in the sidebar`);
  }
});
