import assert from "node:assert/strict";
import { test } from "node:test";
import { readWorkerCount } from "../../../src/server/node/index.ts";

const MIB = 2 ** 20;
const MUCH = 64 * 1_024 * MIB;

const cases: readonly (readonly [text: string | undefined, cores: number, memory: number, count: number])[] = [
  [undefined, 1, MUCH, 1],
  [undefined, 4, MUCH, 4],
  ["", 4, MUCH, 4],
  ["auto", 64, MUCH, 8],
  ["auto", 8, 1_280 * MIB, 2],
  ["auto", 8, 1_024 * MIB, 1],
  ["auto", 8, 128 * MIB, 1],
  ["1", 8, MUCH, 1],
  ["64", 2, 128 * MIB, 64],
];

for (const [text, cores, memory, count] of cases) {
  test(`GATEWAY_WORKERS ${text} is applied on ${cores} cores with ${memory / MIB} MiB`, () => {
    assert.equal(readWorkerCount({ GATEWAY_WORKERS: text }, { cores, memory }), count);
  });
}

for (const text of ["0", "65", "-1", "1.5", "2 ", "many"]) {
  test(`GATEWAY_WORKERS ${JSON.stringify(text)} is refused`, () => {
    assert.throws(() => readWorkerCount({ GATEWAY_WORKERS: text }), { name: "ConfigurationRefused" });
  });
}
