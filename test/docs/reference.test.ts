/** The generated reference is up to date, and every key, column, code and event is documented. */

import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { AUDIT_EVENTS, REFUSALS } from "../../src/base/index.ts";
import { ENVIRONMENT } from "../../src/cli/environment-variables.ts";
import { VERBS } from "../../src/cli/verb-table.ts";
import { deploymentJsonSchema, nodeFileJsonSchema } from "../../src/server/core/config/index.ts";
import { undocumentedColumns } from "./reference/admin-pages.ts";
import { allMetrics } from "./reference/metrics-page.ts";
import { referenceFiles } from "./reference/pages.ts";
import { undocumentedKeys } from "./reference/schema-page.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const FOLDER = join(ROOT, "docs/reference");
const files = referenceFiles(ROOT);
const textOf = (path: string): string => files.get(path) ?? "";

test("docs/reference equals the output of `npm run generate:docs`", () => {
  const there = readdirSync(FOLDER, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(FOLDER.length + 1));
  assert.deepEqual(there.sort(), [...files.keys()].sort(), "run `npm run generate:docs`");
  const changed = [...files].filter(([path, text]) => readFileSync(join(FOLDER, path), "utf8") !== text);
  assert.deepEqual(
    changed.map(([path]) => path),
    [],
    "run `npm run generate:docs` and read the difference",
  );
});

test("every key of both documents and every column of a list is documented", () => {
  assert.deepEqual(undocumentedKeys(nodeFileJsonSchema()), []);
  assert.deepEqual(undocumentedKeys(deploymentJsonSchema()), []);
  assert.deepEqual(undocumentedColumns(), []);
});

test("every verb, code, event and series is documented", () => {
  for (const { name } of VERBS) {
    const page = textOf(`cli/${name.split(" ")[0]}.md`);
    assert.ok(page.includes(`## \`gateway ${name}\``), name);
  }
  for (const code of Object.keys(REFUSALS)) assert.ok(textOf("errors.md").includes(`<a id="${code}"></a>`), code);
  for (const event of AUDIT_EVENTS) assert.ok(textOf("audit-events.md").includes(`### \`${event}\``), event);
  const metrics = allMetrics(ROOT);
  assert.ok(metrics.length > 130, `${metrics.length} series`);
  for (const { name, help } of metrics) assert.ok(help.length > 10, name);
});

test("every series that an alert, a dashboard or a recorded rule reads exists in the program", () => {
  const known = new Set(allMetrics(ROOT).map(({ name }) => name.replaceAll(".", "_")));
  const folder = join(ROOT, "examples/deploy/monitoring");
  for (const name of readdirSync(folder)) {
    const text = readFileSync(join(folder, name), "utf8");
    for (const [series] of text.matchAll(/\bgateway_[a-z0-9_]+/g)) {
      const base = series.replace(/_(?:bucket|sum|count)$/, "");
      assert.ok(known.has(series) || known.has(base), `${name} reads ${series}`);
    }
  }
});

/** Variables of the terminal and the system that every program reads. */
const USUAL = new Set(["HOME", "PATH", "TERM", "COLORFGBG", "TMUX", "LANG", "LC_ALL", "LC_CTYPE", "NODE_ENV"]);
/** Names that look like variables but are constants of the build, or an entity type. */
const NO_VARIABLES = new Set(["GATEWAY_BUILD", "GATEWAY_IS_BUILT", "GATEWAY_KEY"]);

test("the documented environment variables are exactly those that the source reads", () => {
  const documented = new Set(ENVIRONMENT.flatMap(({ name }) => name.split(", ")));
  const sources = readdirSync(join(ROOT, "src"), { recursive: true, encoding: "utf8" })
    .filter((path) => /\.tsx?$/.test(path) && !path.endsWith("cli/environment-variables.ts"))
    .map((path) => readFileSync(join(ROOT, "src", path), "utf8"));
  const read = new Set(
    sources.flatMap((text) => [
      ...[...text.matchAll(/\benv\["([A-Z_]+)"\]/g)].map(([, name = ""]) => name),
      ...[...text.matchAll(/"(GATEWAY_[A-Z_]+)"/g)].map(([, name = ""]) => name),
    ]),
  );
  const isDocumented = (name: string): boolean =>
    documented.has(name) || [...documented].some((it) => it.endsWith("*") && name.startsWith(it.slice(0, -1)));
  const missing = [...read].filter((name) => !USUAL.has(name) && !NO_VARIABLES.has(name) && !isDocumented(name));
  assert.deepEqual(missing, []);
  const ours = [...documented].filter((name) => name.startsWith("GATEWAY_"));
  assert.deepEqual(
    ours.filter((name) => !sources.some((text) => text.includes(`"${name}"`))),
    [],
  );
});

test("the schema that an example names exists", () => {
  const folder = join(ROOT, "examples");
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((path) => path.endsWith(".yaml"));
  const named = files.flatMap((path) => {
    const schema = /^# yaml-language-server: \$schema=(\S+)$/m.exec(readFileSync(join(folder, path), "utf8"))?.[1];
    return schema === undefined ? [] : [resolve(folder, path, "..", schema)];
  });
  assert.ok(named.length >= 10, `${named.length} examples name a schema`);
  for (const path of named) assert.ok(existsSync(path), path);
});
