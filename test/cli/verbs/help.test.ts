/**
 * Help texts compared with golden files; `GATEWAY_REWRITE=1` rewrites them. Review the difference before keeping it.
 */

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { execute } from "../../../src/cli/main.ts";
import { DAEMON, HELP_TOPICS, VERBS } from "../../../src/cli/verb-table.ts";
import { helpOf, overview, usage } from "../../../src/cli/verbs/help.ts";
import { bufferIo } from "../buffer-io.ts";

function assertGolden(name: string, text: string): void {
  const file = new URL(`../../data/cli/${name}.txt`, import.meta.url);
  if (process.env["GATEWAY_REWRITE"] === "1") writeFileSync(file, text);
  assert.equal(text, readFileSync(file, "utf8"));
}

test("the overview lists verbs and the flags of the bare command", () => {
  assertGolden("help", overview());
  const width = Math.max(...VERBS.map(({ name }) => name.length)) + 2;
  for (const { name, summary } of VERBS) assert.ok(overview().includes(`  ${name.padEnd(width)}${summary}\n`), name);
});

for (const verb of VERBS) {
  test(`the help of ${verb.name} is as recorded`, () => {
    assertGolden(`help-${verb.name.replace(" ", "-")}`, helpOf(verb));
  });
}

for (const topic of HELP_TOPICS) {
  test(`the help about ${topic} is as recorded, and no line is wider than a terminal`, async () => {
    const io = bufferIo();
    assert.equal(await execute(["help", topic], io), 0);
    assertGolden(`help-${topic}`, io.out());
    assert.deepEqual(
      io
        .out()
        .split("\n")
        .filter((line) => line.length > 80),
      [],
    );
  });
}

test("the first word of many two-word verbs lists them", async () => {
  for (const args of [["config"], ["help", "config"]]) {
    const io = bufferIo();
    assert.equal(await execute(args, io), 0);
    assert.match(io.out(), /^Usage: gateway config VERB \[FLAGS\] \[ARGUMENTS\]$/m);
    for (const { name, summary } of VERBS.filter((verb) => verb.name.startsWith("config "))) {
      assert.match(io.out(), new RegExp(`^  ${name} +${summary.replaceAll("$", "\\$")}$`, "m"));
    }
    assert.ok(io.out().split("\n").length < 24);
  }
});

test("the first word of two-word verbs prints the help of each", async () => {
  for (const [word, names] of [
    ["snapshot", ["snapshot save", "snapshot restore"]],
    ["audit", ["audit verify"]],
  ] as const) {
    const io = bufferIo();
    assert.equal(await execute(["help", word], io), 0);
    const texts = VERBS.filter(({ name }) => names.some((it) => it === name)).map(helpOf);
    assert.equal(texts.length, names.length);
    assert.equal(io.out(), texts.join("\n"));
    assert.equal(io.err(), "");
  }
});

test("no line of help is wider than a terminal", () => {
  const lines = [overview(), ...VERBS.map(helpOf)].join("").split("\n");
  assert.deepEqual(
    lines.filter((line) => line.length > 80 && !line.startsWith("Usage:")),
    [],
  );
});

test("a usage line marks optional and repeatable parts", () => {
  assert.match(
    usage(DAEMON),
    /^gateway \[-config PATH\] .*\[-alias CLIENT=UPSTREAM\]\.\.\. \[-test-rules PATH\] \[-openapi\] \[-config-schema\]$/,
  );
});
