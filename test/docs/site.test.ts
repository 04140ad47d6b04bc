/** The site: every link leads somewhere, all is there that the program has, and it is read at two widths and without scripts. */

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, test } from "node:test";
import { pathToFileURL } from "node:url";
import { REFUSALS } from "../../src/base/index.ts";
import { VERBS } from "../../src/cli/verb-table.ts";
import { BROWSER, openBrowser } from "./browser.ts";
import { buildSite } from "./build.ts";
import { render } from "./markdown.ts";
import { siteOf } from "./site.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const { pages, copied } = siteOf(ROOT);

test("every link and picture leads to a page, a place on it, or a file that is copied", () => {
  const idsOf = new Map(
    [...pages].map(([file, html]) => [file, new Set([...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id))]),
  );
  const broken: string[] = [];
  for (const [file, html] of pages) {
    if (!file.endsWith(".html")) continue;
    for (const [, target = ""] of html.matchAll(/ (?:href|src)="([^"]+)"/g)) {
      if (/^(https?|mailto):/.test(target)) continue;
      const [path = "", id] = target.split("#");
      const page = path === "" ? file : path;
      const isThere = idsOf.has(page) || copied.has(page) || ["style.css", "search.js"].includes(page);
      if (!isThere || (id !== undefined && idsOf.get(page)?.has(id) !== true && !copied.has(page)))
        broken.push(`${file}: ${target}`);
    }
  }
  assert.deepEqual(broken, []);
});

test("no page gives two places one id, and none holds markdown that was not understood", () => {
  for (const [file, html] of pages) {
    if (!file.endsWith(".html")) continue;
    const ids = [...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
    assert.deepEqual(
      ids.filter((id, at) => ids.indexOf(id) !== at),
      [],
      file,
    );
    const prose = html.replace(/<(pre|code)\b.*?<\/\1>/gs, "");
    assert.doesNotMatch(prose, /\]\([a-z#]|```|\ue000/, file);
  }
});

test("verbs, errors, keys and series of metrics are all there", () => {
  const of = (file: string): string => pages.get(file) ?? "";
  for (const { name } of VERBS)
    if (name !== "help") assert.ok(of("verbs.html").includes(`id="${name.replaceAll(" ", "-")}"`), name);
  for (const code of Object.keys(REFUSALS)) assert.ok(of("errors.html").includes(`id="${code}"`), code);
  for (const id of ["providers-each-retry-attempts", "guardrails-rules-each-when"])
    assert.ok(of("deployment.html").includes(`id="${id}"`), id);
  assert.ok(of("node-file.html").includes('id="cluster-node_id"'));
  for (const name of ["gateway_guardrail_decisions_total", "gateway_failovers_total"])
    assert.ok(of("metrics.html").includes(`id="${name}"`), name);
});

test("text of a document never becomes markup, whatever it holds", () => {
  const { html } = render('<script>x</script> `<b>` **<i>** [<u>](a"b)\n\n| <td> |\n|---|\n| `a\\|b` |\n', (it) => it);
  assert.doesNotMatch(html, /<(script|b|i|u|td) ?>(?!<)(?=[x<])/);
  assert.match(html, /&lt;script&gt;/);
  assert.match(html, /<td><code>a\|b<\/code><\/td>/);
  assert.match(html, /href="a&quot;b"/);
});

test("a browser shows it at two widths without a bar to scroll sideways, in both themes, searches, and needs no scripts", {
  skip: BROWSER === undefined && "no Chromium is installed",
}, async () => {
  const folder = await mkdtemp(join(tmpdir(), "gateway-site-"));
  after(() => rm(folder, { recursive: true, force: true }));
  assert.ok((await buildSite(folder)) > 20);
  assert.ok(existsSync(join(folder, "style.css")));
  const browser = await openBrowser(BROWSER ?? "");
  after(() => browser.close());
  const url = (file: string): string => pathToFileURL(join(folder, file)).href;
  for (const file of ["index.html", "deployment.html", "errors.html", "concepts-guardrails.html", "verbs.html"]) {
    for (const width of [360, 1280]) {
      const shown = await browser.measure(
        { url: url(file), width, scripts: false },
        "({ over: document.documentElement.scrollWidth - innerWidth, title: document.querySelector('h1').textContent, text: document.querySelector('main').innerText.length, search: document.getElementById('search').checkVisibility() })",
      );
      const { over, text, search } = shown as { over: number; text: number; search: boolean };
      assert.ok(over <= 0, `${file} at ${width}: ${over} dots too wide`);
      assert.ok(text > 500, `${file} at ${width}: ${text} characters are seen`);
      assert.equal(search, false, "a search that cannot work is not shown");
    }
  }
  const colours = await Promise.all(
    [false, true].map((dark) =>
      browser.measure(
        { url: url("index.html"), width: 1280, scripts: true, dark },
        "getComputedStyle(document.body).backgroundColor",
      ),
    ),
  );
  assert.deepEqual(colours, ["rgb(255, 255, 255)", "rgb(20, 23, 26)"]);
  const found = await browser.measure(
    { url: url("index.html"), width: 1280, scripts: true },
    "(() => { const box = document.getElementById('search'); box.value = 'budget_exhausted'; box.dispatchEvent(new Event('input')); return document.querySelector('#found a').getAttribute('href'); })()",
  );
  assert.equal(found, "errors.html#budget_exhausted");
});
