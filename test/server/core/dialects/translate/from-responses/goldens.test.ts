/** Responses requests as a messages provider and a chat provider receive them, row by row of the reference. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { GOLDENS, guarded, TARGETS, translate } from "./support.ts";

for (const [file, cases] of GOLDENS) {
  describe(file, () => {
    for (const golden of cases) {
      for (const target of TARGETS) {
        const expected = golden[target];
        if (expected === undefined) continue;
        test(`${golden.row}, to ${target}`, () => {
          const { body, lost } = translate(target, golden.given, expected.channel);
          assert.deepEqual(body, expected.body);
          const result = [...guarded(target, golden.given, expected.channel), ...lost];
          if (expected.lost !== undefined) {
            assert.deepEqual([...new Set(result.map(({ capability }) => capability))], expected.lost);
          }
        });
      }
    }
  });
}
