/** The table of entity types in docs/entity-types.md against the tables that the detector reads; `GATEWAY_REWRITE=1` rewrites it. */

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { BUILT_IN } from "../../../../src/server/detectors/pii/recognizers/index.ts";
import type { Recognizer } from "../../../../src/server/detectors/pii/types.ts";

const README = new URL("../../../../docs/entity-types.md", import.meta.url);
const BEGIN = "<!-- entities -->\n";
const END = "<!-- /entities -->";

const isChecked = ({ patterns }: Recognizer): boolean =>
  patterns.some((pattern) => pattern.kind === "search" || pattern.validate !== undefined);

const best = ({ patterns }: Recognizer): number => Math.max(...patterns.map(({ score }) => score));

function entityTable(): string {
  const rows = [...BUILT_IN]
    .sort((a, b) => (`${a.category}/${a.entity}` < `${b.category}/${b.entity}` ? -1 : 1))
    .map(
      (one) =>
        `| \`${one.category}/${one.entity}\` | \`${one.name}\` | ${best(one)} | ${isChecked(one) ? "yes" : ""} |`,
    );
  return ["", "| Type | Recognizer | Score unproven, at best | Check |", "|---|---|---|---|", ...rows, "", ""].join(
    "\n",
  );
}

test("docs has the table of entity types that the detector reads", () => {
  const readme = readFileSync(README, "utf8");
  const from = readme.indexOf(BEGIN) + BEGIN.length;
  const to = readme.indexOf(END);
  assert.ok(from >= BEGIN.length && to >= from, "the markers are there");
  const table = entityTable();
  if (process.env["GATEWAY_REWRITE"] === "1") {
    writeFileSync(README, readme.slice(0, from) + table + readme.slice(to));
    return;
  }
  assert.equal(readme.slice(from, to), table);
});
