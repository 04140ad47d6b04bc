// tier: long
/**
 * The site as `npm run docs` builds it: all pages, search, files for language models, and rendering at desktop and
 * phone width. Skipped where its packages cannot be installed.
 */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join, resolve } from "node:path";
import { after, test } from "node:test";
import { markdownFiles } from "../../docs/.vitepress/markdown-files.ts";
import { sitePathOf } from "../../docs/.vitepress/pages.ts";
import { peer } from "../peers/index.ts";
import { openBrowser } from "./browser.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const SITE = join(ROOT, "site");
const BUILD_LIMIT_MS = 600_000;

const built = spawnSync(process.execPath, [join(ROOT, "docs/.vitepress/run.mjs"), "build"], {
  encoding: "utf8",
  timeout: BUILD_LIMIT_MS,
});
const skip = built.stderr.includes("could not be installed") ? "the packages of the site cannot be installed" : false;
const chromium = await peer("chromium");

const pages = markdownFiles(ROOT).map((path) => sitePathOf(path) ?? "");

test("the build succeeds and makes each page, also as Markdown, and the files for language models", { skip }, () => {
  assert.equal(built.status, 0, built.stdout + built.stderr);
  for (const page of pages) {
    assert.ok(existsSync(join(SITE, page.replace(/\.md$/, ".html"))), page);
    assert.ok(existsSync(join(SITE, page)), page);
  }
  const list = readFileSync(join(SITE, "llms.txt"), "utf8");
  for (const [, path = ""] of list.matchAll(/\]\(([^)]+)\)/g)) assert.ok(existsSync(join(SITE, path)), path);
  assert.ok(readFileSync(join(SITE, "llms-full.txt"), "utf8").length > 100_000);
  const scripts = readdirSync(join(SITE, "assets/chunks"));
  assert.ok(
    scripts.some((name) => name.includes("localSearchIndex")),
    "there is a search index",
  );
});

const TYPES: Readonly<Record<string, string>> = {
  html: "text/html",
  js: "text/javascript",
  css: "text/css",
  svg: "image/svg+xml",
};

async function served(): Promise<string> {
  const server = createServer((request, response) => {
    const path = decodeURI((request.url ?? "/").replace(/[?#].*$/, ""));
    const file = [path, `${path}.html`, join(path, "index.html")].find(
      (it) => /\.\w+$/.test(it) && existsSync(join(SITE, it)),
    );
    if (file === undefined) {
      response.writeHead(404).end();
      return;
    }
    const type = TYPES[file.split(".").at(-1) ?? ""] ?? "application/octet-stream";
    response.writeHead(200, { "content-type": type }).end(readFileSync(join(SITE, file)));
  });
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test("a browser shows pages at both widths without horizontal scrolling, in both themes, and draws diagrams", {
  skip: skip || chromium.missing,
}, async () => {
  const url = await served();
  const browser = await openBrowser(chromium.path);
  after(() => browser.close());
  for (const page of ["/", "/reference/node-file", "/reference/errors", "/reference/cli/keys", "/reference/presets"]) {
    for (const width of [360, 1280]) {
      const shown = (await browser.measure(
        { url: `${url}${page}`, width, scripts: true },
        "({ over: document.documentElement.scrollWidth - innerWidth, text: document.querySelector('main').innerText.length })",
      )) as { readonly over: number; readonly text: number };
      assert.ok(shown.over <= 0, `${page} at ${width}: ${shown.over} dots too wide`);
      assert.ok(shown.text > 500, `${page} at ${width}: ${shown.text} characters`);
    }
  }
  const colors = [];
  for (const dark of [false, true]) {
    const view = { url: `${url}/`, width: 1280, scripts: true, dark };
    colors.push(await browser.measure(view, "getComputedStyle(document.body).backgroundColor"));
  }
  assert.notEqual(colors[0], colors[1]);
});
