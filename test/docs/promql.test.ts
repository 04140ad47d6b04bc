// tier: all
/** PromQL blocks of the documents, by promtool: each expression parses, and reads existing series. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, test } from "node:test";
import { stringify } from "yaml";
import { markdownFiles } from "../../docs/.vitepress/markdown-files.ts";
import { peer } from "../peers/index.ts";
import { partsOf } from "./markdown-parts.ts";
import { allMetrics } from "./reference/metrics-page.ts";

const ROOT = resolve(import.meta.dirname, "../..");

/** Expressions of the blocks, one per paragraph. */
const expressions = markdownFiles(ROOT).flatMap((path) =>
  partsOf(readFileSync(join(ROOT, path), "utf8"))
    .blocks.filter(({ language }) => language === "promql")
    .flatMap(({ text, line }) => text.split(/\n{2,}/).map((expr) => ({ at: `${path}:${line}`, expr }))),
);

test("every series in a PromQL block exists in the program", () => {
  const known = new Set(allMetrics(ROOT).map(({ name }) => name.replaceAll(".", "_")));
  for (const { at, expr } of expressions) {
    for (const [name] of expr.matchAll(/\bgateway_[a-z0-9_]+/g)) {
      assert.ok(known.has(name) || known.has(name.replace(/_(?:bucket|sum|count)$/, "")), `${at} reads ${name}`);
    }
  }
});

const promtool = await peer("promtool");

test("every expression parses", { skip: promtool.missing }, () => {
  const folder = mkdtempSync(join(tmpdir(), "gateway-promql-"));
  after(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "rules.yaml");
  const rules = expressions.map(({ expr }, at) => ({ record: `documented:${at}`, expr }));
  writeFileSync(file, stringify({ groups: [{ name: "documents", rules }] }));
  const { status, stderr, stdout } = spawnSync(promtool.path, ["check", "rules", file], { encoding: "utf8" });
  assert.equal(status, 0, stdout + stderr);
});
