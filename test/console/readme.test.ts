/** The table of keys in docs/console.md compared with the console's tables; `GATEWAY_REWRITE=1` rewrites it. */

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { chordsText } from "../../src/console/format/keys-text.ts";
import { CHARTS, COMMON, DIALOG, MOVING, VERBS } from "../../src/console/model/key-bindings.ts";
import type { Chord } from "../../src/console/model/key-event.ts";
import { WORKBENCH_PARTS } from "../../src/console/workbench/workbench-keys.ts";

const README = new URL("../../docs/console.md", import.meta.url);
const BEGIN = "<!-- keys -->\n";
const END = "<!-- /keys -->";

interface Entry {
  readonly chords: readonly Chord[];
  readonly help: string;
}

/** A bar in a cell would end it. */
const cell = (text: string): string => text.replaceAll("|", "\\|");

/** No chord contains a blank. */
const keys = (chords: readonly Chord[]): string =>
  chordsText(chords)
    .split(" ")
    .map((chord) => `\`${cell(chord)}\``)
    .join(" ");

const row = (where: string, { chords, help }: Entry): string => `| ${where} | ${keys(chords)} | ${cell(help)} |`;

const verbs: readonly Entry[] = Object.values(VERBS).map(({ chord, help, group }) => ({
  chords: [chord],
  help: group === "write" ? `${help} *` : help,
}));

function keyTable(): string {
  const groups: readonly (readonly [string, readonly Entry[]])[] = [
    ["Everywhere", Object.values(COMMON)],
    ["In tables and pages", Object.values(MOVING)],
    ["In charts", Object.values(CHARTS)],
    ["On rows, where the view offers it", verbs],
    ["In a dialog", Object.values(DIALOG)],
    ...WORKBENCH_PARTS.map(({ where, keys }) => [`Query workbench, ${where}`, keys] as const),
  ];
  const rows = groups.flatMap(([where, entries]) => entries.map((entry, at) => row(at === 0 ? where : "", entry)));
  return ["| Where | Keys | |", "|---|---|---|", ...rows, ""].join("\n");
}

test("docs has the table of the console's keys", () => {
  const readme = readFileSync(README, "utf8");
  const from = readme.indexOf(BEGIN) + BEGIN.length;
  const to = readme.indexOf(END);
  assert.ok(from >= BEGIN.length && to >= from, "the markers are there");
  const table = keyTable();
  if (process.env["GATEWAY_REWRITE"] === "1") {
    writeFileSync(README, readme.slice(0, from) + table + readme.slice(to));
    return;
  }
  assert.equal(readme.slice(from, to), table);
});

test("no verb has the letter of a movement, and no two verbs share one", () => {
  const taken = [...Object.values(COMMON), ...Object.values(MOVING)].flatMap(
    ({ chords }) => chords as readonly Chord[],
  );
  const letters = Object.values(VERBS).map(({ chord }): Chord => chord);
  assert.deepEqual(
    letters.filter((letter) => taken.includes(letter)),
    [],
  );
  assert.equal(new Set(letters).size, letters.length);
});
