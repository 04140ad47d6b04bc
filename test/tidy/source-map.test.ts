/** Source map and graph of folders in docs/contributing/architecture.md, and the size of folders. `GATEWAY_REWRITE=1` writes both. */

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { posix } from "node:path";
import { test } from "node:test";
import { filesUnder, read } from "./source.ts";
import { sourceMap, tableOf } from "./source-map.ts";
import { unitGraph } from "./unit-graph.ts";

const DOCUMENT = "docs/contributing/architecture.md";
const BEGIN =
  "<!-- The source map is written by GATEWAY_REWRITE=1 node --import tsx --test test/tidy/source-map.test.ts -->";
const END = "<!-- End of the source map -->";
const BEGIN_GRAPH = "<!-- The graph is written by the command that writes the source map -->";
const END_GRAPH = "<!-- End of the graph -->";
const MAX_FILES = 25;

/** Folders that may be larger, since each of their files is a stage of the same path. */
const LARGE: ReadonlySet<string> = new Set(["src/server/dataplane", "src/server/dataplane/hops/model"]);

test("each folder has a description, and the architecture page lists them all", () => {
  const { lines, problems } = sourceMap();
  assert.deepEqual(problems, []);
  writtenBetween(BEGIN, END, tableOf(lines));
});

test("no folder of the server imports one above it, and the architecture page draws the imports", () => {
  const { diagram, circles } = unitGraph();
  assert.deepEqual(circles, [], "these folders import each other in a circle");
  writtenBetween(BEGIN_GRAPH, END_GRAPH, diagram);
});

/** Compares the part of the page between two marks with `part`, or writes it. */
function writtenBetween(begin: string, end: string, part: string): void {
  const text = read(DOCUMENT);
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  assert.ok(from >= 0 && to > from, `the marks are missing: ${begin}`);
  const wanted = `${text.slice(0, from)}${begin}\n\n${part}\n\n${text.slice(to)}`;
  if (process.env["GATEWAY_REWRITE"] === "1") writeFileSync(DOCUMENT, wanted);
  else assert.equal(text, wanted, `the page is not current: ${BEGIN}`);
}

test("a folder of the server has a manageable number of files", () => {
  const counts = new Map<string, number>();
  for (const path of filesUnder("src/server")) {
    const folder = posix.dirname(path);
    counts.set(folder, (counts.get(folder) ?? 0) + 1);
  }
  const crowded = [...counts].filter(([folder, count]) => count > MAX_FILES && !LARGE.has(folder));
  assert.deepEqual(crowded, [], `more than ${MAX_FILES} files: group them in folders by subject`);
});
