/** The page on troubleshooting has a row for every error code, and every log line that it explains is in the source. */

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { REFUSALS } from "../../src/base/index.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const page = readFileSync(join(ROOT, "docs/troubleshooting.md"), "utf8");

const section = (heading: string): string => page.split(/^## /m).find((text) => text.startsWith(heading)) ?? "";

/** Returns the backquoted texts in the first cells of a table, each cut at an ellipsis. */
function firstCells(heading: string): readonly string[] {
  return [...section(heading).matchAll(/^\| (`[^|]*`) \|/gm)].flatMap(([, cell = ""]) =>
    [...cell.matchAll(/`([^`]+)`/g)].map(([, text = ""]) => text.replace(/ …( .*)?$/, "")),
  );
}

test("each error code of the gateway has a row", () => {
  const codes = new Set(firstCells("By error code"));
  const missing = Object.keys(REFUSALS).filter((code) => !codes.has(code));
  assert.deepEqual(missing, []);
});

test("each explained log line exists in the program", () => {
  const lines = firstCells("By log line");
  const files = readdirSync(join(ROOT, "src"), { recursive: true, encoding: "utf8" }).filter((name) =>
    name.endsWith(".ts"),
  );
  const source = files.map((name) => readFileSync(join(ROOT, "src", name), "utf8")).join("\n");
  assert.ok(lines.length > 20);
  assert.deepEqual(
    lines.filter((line) => !source.includes(line)),
    [],
  );
});
