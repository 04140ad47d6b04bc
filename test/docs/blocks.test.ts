/**
 * Fenced code of the documents: each block names its language, and is checked by its parser or declared a part (`json
 * fragment`). YAML is checked by yaml-blocks.test.ts, PromQL by promql.test.ts, and command lines by
 * test/e2e/examples.test.ts.
 */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { markdownFiles } from "../../docs/.vitepress/markdown-files.ts";
import { type Block, partsOf } from "./markdown-parts.ts";

const ROOT = resolve(import.meta.dirname, "../..");

interface Found extends Block {
  readonly at: string;
}

const blocks: readonly Found[] = markdownFiles(ROOT).flatMap((path) =>
  partsOf(readFileSync(join(ROOT, path), "utf8")).blocks.map((block) => ({ ...block, at: `${path}:${block.line}` })),
);

/** Languages of blocks. A block without one is the output of a command. */
const LANGUAGES = new Set([
  "",
  "sh",
  "yaml",
  "json",
  "mermaid",
  "text",
  "promql",
  "cel",
  "cedar",
  "toml",
  "ini",
  "sql",
  "ts",
  "js",
  "python",
  "diff",
  "http",
  "nginx",
]);

test("every block has a known language", () => {
  assert.ok(blocks.length > 100, `${blocks.length} blocks`);
  assert.deepEqual(
    blocks.filter(({ language }) => !LANGUAGES.has(language)).map(({ at, language }) => `${at}: ${language}`),
    [],
  );
});

test("JSON blocks are valid", () => {
  const faults = blocks
    .filter(({ language, isFragment }) => language === "json" && !isFragment)
    .flatMap(({ at, text }) => {
      try {
        JSON.parse(text);
        return [];
      } catch (error) {
        return [`${at}: ${(error as Error).message}`];
      }
    });
  assert.deepEqual(faults, []);
});

test("a shell block has balanced quotes, and a diagram states its type", () => {
  for (const { at, language, text } of blocks) {
    if (language === "mermaid")
      assert.match(text.trim(), /^(?:flowchart|graph|sequenceDiagram|stateDiagram-v2|timeline)\b/, at);
    if (language !== "sh") continue;
    const quotes = text
      .replace(/#.*$/gm, "")
      .replace(/\\./g, "")
      .replace(/'[^']*'/g, "")
      .replace(/"[^"]*"/g, "");
    assert.doesNotMatch(quotes, /["']/, at);
  }
});
