/** For any keys and answers the workbench stays within its limits and can be drawn. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { cellsOf } from "../../../src/base/index.ts";
import { NAMED_CHORDS } from "../../../src/console/model/key-event.ts";
import type { Event, WorkbenchState } from "../../../src/console/model/state.ts";
import { drawWorkbench } from "../../../src/console/workbench/draw-workbench.ts";
import {
  historyText,
  MAX_HISTORY,
  MAX_MEMORY_BYTES,
  MAX_STATEMENT_LENGTH,
} from "../../../src/console/workbench/saved-statements.ts";
import { stepWorkbench } from "../../../src/console/workbench/step-workbench.ts";
import { EMPTY_WORKBENCH } from "../../../src/console/workbench/workbench.ts";
import { facts, NOW, RESULT, TABLES, textsOf } from "./support.ts";

const letters = [..."select*frombk.;?'\"(),=é日𝒳\u0301", "space"];
const controls = [..."abcdefgklnopqrstuvwxyz"].map((letter) => `ctrl-${letter}`);

const event: fc.Arbitrary<Event> = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom(...letters).map((chord) => ({ kind: "key" as const, chord })) },
  {
    weight: 6,
    arbitrary: fc.constantFrom(...NAMED_CHORDS, ...controls).map((chord) => ({ kind: "key" as const, chord })),
  },
  {
    weight: 1,
    arbitrary: fc.string({ unit: "binary", maxLength: 40 }).map((text) => ({ kind: "paste" as const, text })),
  },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom("select * from keys k\nwhere k.", "x".repeat(MAX_STATEMENT_LENGTH), "select 1;")
      .map((text) => ({
        kind: "paste" as const,
        text,
      })),
  },
  {
    weight: 1,
    arbitrary: fc
      .integer({ min: 1, max: 30 })
      .map((id) => ({ kind: "query_done" as const, id, result: RESULT, tookMs: 1 })),
  },
  {
    weight: 1,
    arbitrary: fc
      .integer({ min: 1, max: 30 })
      .map((id) => ({ kind: "query_failed" as const, id, message: "No, at character 3." })),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(
        fc.constantFrom("history" as const, "statements" as const),
        fc.constantFrom('"a"\n"b\\nc"', '{"n":"select 1"}', "{"),
      )
      .map(([name, text]) => ({ kind: "remembered" as const, name, text })),
  },
);

function check(workbench: WorkbenchState, columns: number, rows: number): void {
  for (const { text, at } of [workbench.edit, workbench.paramsEdit, workbench.asking?.edit].filter(
    (it) => it !== undefined,
  )) {
    assert.ok(at >= 0 && at <= text.length);
    assert.ok(text.isWellFormed() && text.slice(0, at).isWellFormed(), "the cursor is inside a code point");
    assert.ok(text.length <= MAX_STATEMENT_LENGTH);
  }
  assert.ok(workbench.history.length <= MAX_HISTORY);
  assert.ok(Buffer.byteLength(historyText(workbench.history)) <= MAX_MEMORY_BYTES);
  const { row, offset, column } = workbench.result;
  assert.ok(offset >= 0 && offset <= row && column >= 0);
  const lines = drawWorkbench(workbench, TABLES, { columns, rows, isAscii: false, now: NOW });
  assert.equal(lines.length, rows);
  for (const text of textsOf(lines)) assert.ok(cellsOf(text) <= columns);
}

describe("random keys in the workbench", () => {
  it("never stop it, exceed its bounds or put the cursor inside a character", () => {
    fc.assert(
      fc.property(
        fc.array(event, { maxLength: 60 }),
        fc.integer({ min: 1, max: 130 }),
        fc.integer({ min: 0, max: 40 }),
        (events, columns, rows) => {
          let workbench = EMPTY_WORKBENCH;
          let nextId = 1;
          for (const one of events) {
            const step = stepWorkbench(workbench, one, facts({ nextId, size: { columns, rows } }));
            nextId += step.usedIds;
            for (const effect of step.effects) if ("id" in effect) assert.ok(effect.id < nextId);
            assert.ok(step.isTaken || step.workbench === workbench);
            workbench = step.workbench;
          }
          check(workbench, columns, rows);
        },
      ),
      { numRuns: 400 },
    );
  });
});
