/**
 * YAML blocks in the documents: every key belongs to the node file or the deployment document and has a valid value, so
 * that a fragment can be pasted. Rule suites and files of other programs begin with a line that says so, or have keys
 * of their own.
 */

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import { parse } from "yaml";
import { deploymentJsonSchema, type JsonSchema, nodeFileJsonSchema } from "../../src/server/core/config/index.ts";

const ROOT = resolve(import.meta.dirname, "../..");

/** Pages generated from the schemas show values without their parent keys. */
const GENERATED = "docs/reference/";

/** Keys of rule suites and of the console's settings, which have their own tests. */
const OTHERS = new Set(["suite", "callers", "cases", "description", "theme", "themes", "keys", "commands", "contexts"]);

function below(folder: string): readonly string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md") && !name.includes("node_modules"))
    .map((name) => `${folder}/${name}`)
    .sort();
}

const DOCUMENTS = ["README.md", ...below("docs"), ...below("examples")].filter((path) => !path.startsWith(GENERATED));

interface Kind {
  readonly keys: ReadonlySet<string>;
  readonly problems: (document: object) => readonly string[];
}

function kindOf(schema: JsonSchema): Kind {
  const check = new Ajv2020({ strict: false, allErrors: true, validateFormats: false }).compile(schema);
  return {
    keys: new Set(Object.keys((schema as { readonly properties: object }).properties)),
    problems(document) {
      if (check(document)) return [];
      // A fragment lacks its surroundings.
      const errors = (check.errors ?? []).filter(
        ({ keyword }) => !["required", "if", "dependentRequired"].includes(keyword),
      );
      return errors.map(({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`);
    },
  };
}

const KINDS = [kindOf(deploymentJsonSchema()), kindOf(nodeFileJsonSchema())];

/** Returns the problems of a block; none for another program's block. */
function problemsOf(text: string): readonly string[] {
  if (/^# fragment of (?!node\.yaml|deployment\.yaml)/.test(text)) return [];
  // Both readers accept a number in place of a string, as in `when: [429]`.
  const document: unknown = parse(text.replaceAll(/(?<=[[ ])429(?=[,\]])/g, '"429"'), { logLevel: "silent" });
  // A single list entry is checked where the whole list appears.
  if (typeof document !== "object" || document === null || Array.isArray(document)) return [];
  const entries = Object.entries(document).filter(([key]) => !OTHERS.has(key));
  const unknown = entries
    .filter(([key]) => !KINDS.some(({ keys }) => keys.has(key)))
    .map(([key]) => `unknown key ${key}`);
  const found = KINDS.flatMap(({ keys, problems }) =>
    problems(Object.fromEntries(entries.filter(([key]) => keys.has(key)))),
  );
  return [...unknown, ...found];
}

let blocks = 0;
for (const document of DOCUMENTS) {
  const text = readFileSync(join(ROOT, document), "utf8");
  const found = [...text.matchAll(/^```yaml\n(.*?)^```$/gms)];
  blocks += found.length;
  if (found.length === 0) continue;
  test(`${document}: its ${found.length} YAML blocks can be pasted`, () => {
    for (const [, block = "", ...rest] of found) assert.deepEqual(problemsOf(block), [], `${block}${rest.join("")}`);
  });
}

test("YAML blocks exist, and an unknown key is detected", () => {
  assert.ok(blocks > 50);
  assert.deepEqual(problemsOf("budgets: [{ name: a, limit: 1, windw: day }]").length, 1);
  assert.deepEqual(problemsOf("budgts: []"), ["unknown key budgts"]);
});
