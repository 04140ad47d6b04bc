/**
 * The files in `screenshots/`: a complete picture of limited size for each view, and another one of each view, small
 * and in the light theme.
 */

import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { VIEWS } from "../../src/console/views/all.ts";
import { SHOTS, SMALL } from "./shots.ts";

const PICTURES = new URL("../../screenshots/", import.meta.url);
const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const MAX_SVG_BYTES = 256 << 10;
const MAX_FOLDER_BYTES = 10 << 20;

const files = readdirSync(PICTURES);
const read = (name: string): string => readFileSync(new URL(name, PICTURES), "utf8");

test("each view has a screenshot of its own, a small one and a light one", () => {
  const missing = VIEWS.map(({ id }) => id).filter(
    (id) => ![`${id}.svg`, `${id}.png`, `${id}-light-80x24.svg`].every((name) => files.includes(name)),
  );
  assert.deepEqual(missing, []);
});

test("the existing files are exactly the taken screenshots, each as SVG and as PNG", () => {
  const expected = SHOTS.flatMap(({ name, light }) => [`${name}.svg`, ...(light === true ? [] : [`${name}.png`])]);
  assert.deepEqual([...files].sort(), [...expected].sort());
});

test("the screenshots stay small, alone and together", () => {
  const sizes = files.map((name) => [name, statSync(new URL(name, PICTURES)).size] as const);
  assert.deepEqual(
    sizes.filter(([name, size]) => name.endsWith(".svg") && size > MAX_SVG_BYTES),
    [],
  );
  const all = sizes.reduce((sum, [, size]) => sum + size, 0);
  assert.ok(all < MAX_FOLDER_BYTES, `${all} bytes`);
});

for (const { name, light, ...size } of SHOTS) {
  const { columns = 120, rows = 35 } = light === true ? SMALL : size;

  test(`${name}.svg is well-formed and as large as ${columns} by ${rows} cells`, () => {
    const svg = read(`${name}.svg`);
    const { width, height } = boxOf(svg);
    assert.ok(width > columns * 8 && width < columns * 10, `width ${width}`);
    assert.ok(height > rows * 16 && height < rows * 20, `height ${height}`);
    assertWellFormed(svg);
    assert.match(svg, /<title>[^<]+<\/title>/);
    for (const [, text = ""] of svg.matchAll(/<text[^>]* x="([\d.]+)"/g)) assert.ok(Number(text) < width);
  });

  test(`${name}.svg shows the console from its first line`, () => {
    assert.match(read(`${name}.svg`).slice(0, 20_000), />(live|OFFLINE|frozen|gateway)\b/);
  });

  if (light === true) continue;
  test(`${name}.png has the PNG signature`, () => {
    const bytes = readFileSync(new URL(`${name}.png`, PICTURES));
    assert.deepEqual([...bytes.subarray(0, 8)], [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  });
}

test("no screenshot contains a path of the machine that took it", () => {
  const named = files.filter((name) => {
    const text = name.endsWith(".svg") ? read(name) : "";
    return text.includes(ROOT) || /\/(home|root|Users)\//.test(text);
  });
  assert.deepEqual(named, []);
});

function boxOf(svg: string): { readonly width: number; readonly height: number } {
  const [, width, height] = /^<svg [^>]*width="([\d.]+)" height="([\d.]+)"/.exec(svg) ?? [];
  return { width: Number(width), height: Number(height) };
}

const TOKEN = /<(\/?)([a-z]+)((?: [\w:-]+="[^"<]*")*)(\/?)>|[^<]+/gy;

/**
 * Checks that elements are closed in order, attributes are quoted and every `&` begins an entity; the pictures use no
 * other markup.
 */
function assertWellFormed(svg: string): void {
  const open: string[] = [];
  let end = 0;
  for (const [token, slash, name = "", attributes = "", isEmpty] of svg.matchAll(TOKEN)) {
    end += token.length;
    const texts = name === "" ? token : attributes;
    assert.doesNotMatch(texts, /&(?!(?:amp|lt|gt|quot);)/);
    if (name === "" || isEmpty === "/") continue;
    if (slash === "/") assert.equal(open.pop(), name);
    else open.push(name);
  }
  assert.equal(end, svg.length, `markup that cannot be read after ${svg.slice(Math.max(0, end - 40), end)}`);
  assert.deepEqual(open, []);
}
