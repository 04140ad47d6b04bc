/** A limited number of simulated clusters, and the proof that a broken rule is detected. Long runs: `npm run sim`. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { compile, inFolder } from "./compile.ts";
import { MUTANTS } from "./mutants.ts";
import { FURTHER_MUTANTS } from "./mutants-further.ts";
import type { RunOptions, RunResult } from "./simulation.ts";
import { runSeed } from "./simulation.ts";

const ROOT = join(dirname(fileURLToPath(import.meta.url)), "../..");
const EVENTS = 2_000;
const SEEDS = 60;

function describe({ seed, failure }: RunResult): string {
  return `seed ${seed} breaks "${failure?.invariant}": ${failure?.message}\n${failure?.trace.slice(-20).join("\n")}`;
}

test("the same seed gives the same run, and another seed another", () => {
  const digest = (seed: number) => runSeed({ seed, events: EVENTS, mode: "faults" }).digest;
  for (const seed of [3, 11, 42]) assert.equal(digest(seed), digest(seed));
  assert.notEqual(digest(3), digest(11));
});

test("clusters keep every invariant under faults and settle afterwards", () => {
  let operations = 0;
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const result = runSeed({ seed, events: EVENTS, mode: "faults" });
    assert.equal(result.failure, undefined, describe(result));
    operations += result.operations;
  }
  assert.ok(operations > SEEDS * 10, `${operations} operations of clients`);
});

test("clusters stay correct when disks lose synced data", () => {
  for (let seed = 1; seed <= SEEDS / 3; seed += 1) {
    const result = runSeed({ seed, events: EVENTS, mode: "damage" });
    assert.equal(result.failure, undefined, describe(result));
  }
});

const ALL = [...MUTANTS, ...FURTHER_MUTANTS];

test("mutants have unique names, and the text that each replaces occurs once in its file", () => {
  assert.equal(new Set(ALL.map(({ name }) => name)).size, ALL.length);
  for (const { name, file, find, replace } of ALL) {
    const text = readFileSync(join(ROOT, file), "utf8");
    assert.equal(text.split(find).length - 1, 1, `${name}: in ${file}`);
    assert.notEqual(find, replace, name);
  }
});

for (const name of [
  "vote-for-a-shorter-log",
  "command-repeated-takes-effect-again",
  "new-leader-forgets-a-pending-change",
]) {
  test(`a cluster with the mutant ${name} fails within a few seeds`, async () => {
    const mutant = ALL.find((one) => one.name === name);
    assert.ok(mutant !== undefined);
    await inFolder(async (folder) => {
      const file = await compile({ folder, entry: "simulation.ts", mutant });
      const broken: { runSeed(options: RunOptions): RunResult } = await import(pathToFileURL(file).href);
      const seeds = Array.from({ length: SEEDS }, (_, at) => at + 1);
      const caught = seeds.find(
        (seed) => broken.runSeed({ seed, events: EVENTS, mode: "faults" }).failure !== undefined,
      );
      assert.ok(caught !== undefined, `none of ${SEEDS} seeds noticed`);
    });
  });
}
