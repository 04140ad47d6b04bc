// tier: test
/**
 * Every feature of the dialects between each official client and each provider, through the real program: it passes in
 * every form, or is refused with the name of the loss. The table of docs/concepts/dialects.md has the results;
 * `GATEWAY_REWRITE=1` rewrites it.
 */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { after, test } from "node:test";
import { idle } from "../support/metrics.ts";
import { modelOf, type Outcome, outcomeIn } from "./support/cell.ts";
import { FEATURES } from "./support/features/index.ts";
import { startRig } from "./support/rig.ts";
import { PLACES, renderTable } from "./support/table.ts";

const README = new URL("../../../docs/concepts/dialects.md", import.meta.url);
const BEGIN = "<!-- dialects:begin -->\n";
const END = "<!-- dialects:end -->";

const rig = await startRig({ after }, [...new Set(FEATURES.map(modelOf))]);
const outcomes = new Map<string, Outcome[]>();

for (const feature of FEATURES) {
  const row: Outcome[] = [];
  outcomes.set(feature.name, row);
  for (const place of PLACES) {
    test(`${feature.name}: ${place.client} client, ${place.upstream} provider`, async () => {
      row.push(await outcomeIn(rig, feature, place));
    });
  }
}

test("within a dialect nothing is lost", () => {
  for (const [name, row] of outcomes) {
    const own = row.filter(
      (_, at) => PLACES[at]?.upstream === (PLACES[at]?.client === "openai" ? "compat" : "messages"),
    );
    assert.ok(
      own.every(({ kind }) => kind !== "lost"),
      name,
    );
  }
});

test("nothing is in flight at the end", async () => {
  await idle(rig.gateway);
});

test("docs has the table of the results", () => {
  for (const [name, row] of outcomes) assert.equal(row.length, PLACES.length, `every cell of ${name} came to an end`);
  const readme = readFileSync(README, "utf8");
  const from = readme.indexOf(BEGIN) + BEGIN.length;
  const to = readme.indexOf(END);
  assert.ok(from >= BEGIN.length && to >= from, "the markers are there");
  const table = renderTable(outcomes);
  if (process.env["GATEWAY_REWRITE"] === "1") {
    writeFileSync(README, readme.slice(0, from) + table + readme.slice(to));
    return;
  }
  assert.equal(readme.slice(from, to), table);
});
