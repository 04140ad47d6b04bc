/** Agreement of languages with a reference, counted manually. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { type Agreement, compareRow, type TypeCounts } from "../../../src/cli/guardrail-eval/index.ts";

const bag = (counts: Readonly<Record<string, number>>): TypeCounts => new Map(Object.entries(counts));

test("rows agree if the same is found equally often; empty rows are separate; rows without the reference do not count", () => {
  const sums = new Map<string, Agreement>();
  const rows: readonly Readonly<Record<string, TypeCounts>>[] = [
    { en: bag({ A: 2, B: 1 }), de: bag({ A: 1, C: 1 }), fr: bag({ A: 2, B: 1 }) },
    { en: bag({}), de: bag({}) },
    { de: bag({ A: 1 }) },
  ];
  const counted = rows.map((row) => compareRow(sums, new Map(Object.entries(row)), "en"));
  assert.deepEqual(counted, [true, true, false]);
  assert.deepEqual(Object.fromEntries(sums), {
    de: { rows: 2, agreed: 1, emptyAgreed: 1, lost: 2, gained: 1 },
    fr: { rows: 1, agreed: 1, emptyAgreed: 0, lost: 0, gained: 0 },
  });
});
