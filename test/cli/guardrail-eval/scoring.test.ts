/** Scores compared with figures computed manually. */

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  averagePrecision,
  count,
  countLabels,
  createTally,
  decilesOf,
  figuresOf,
  type Mark,
  macroF1,
  NO_COUNTS,
  STEPS,
  totalOf,
} from "../../../src/cli/guardrail-eval/index.ts";

const only = (isScored: (name: string) => boolean) => ({ types: isScored, labels: isScored });

const mark = (start: number, end: number, type = "A"): Mark => ({ start, end, type });

function scored(spans: readonly Mark[], findings: readonly Mark[], types = ["A", "B"]) {
  const tally = createTally();
  count(
    tally,
    { spans, labels: undefined, findings, tags: [] },
    only((type) => types.includes(type)),
  );
  const { exact, overlap } = tally;
  return { exact: figuresOf(totalOf(exact)), overlap: figuresOf(totalOf(overlap)) };
}

test("exact matching needs place and type; two findings at one place are one right and one wrong", () => {
  const { exact } = scored([mark(0, 4), mark(8, 12)], [mark(0, 4), mark(0, 4), mark(8, 12, "B"), mark(20, 24)]);
  assert.deepEqual(exact, { tp: 1, fp: 3, fn: 1, precision: 0.25, recall: 0.5, f1: 1 / 3 });
});

test("overlap matching needs a common byte: matched marks over marks, right findings over findings", () => {
  const { overlap } = scored([mark(0, 10), mark(20, 24)], [mark(0, 3), mark(5, 9), mark(10, 12), mark(24, 30)]);
  assert.deepEqual(overlap, { tp: 1, fp: 2, fn: 1, precision: 0.5, recall: 0.5, f1: 0.5 });
});

test("types that are not scored are neither found nor missed", () => {
  const { exact } = scored([mark(0, 4)], [mark(0, 4), mark(8, 9, "B")], ["A"]);
  assert.deepEqual(exact, { tp: 1, fp: 0, fn: 0, precision: 1, recall: 1, f1: 1 });
});

test("an undefined figure is null, and the F1 of no correct finding is 0", () => {
  assert.deepEqual(figuresOf(NO_COUNTS), { tp: 0, fp: 0, fn: 0, precision: null, recall: null, f1: null });
  const missed = figuresOf({ ...NO_COUNTS, marked: 2 });
  assert.deepEqual([missed.precision, missed.recall, missed.f1], [null, 0, 0]);
  const noise = figuresOf({ ...NO_COUNTS, found: 2 });
  assert.deepEqual([noise.precision, noise.recall, noise.f1], [0, null, 0]);
});

test("macro F1 is the mean over the marked types", () => {
  const perfect = { marked: 1, matched: 1, found: 1, correct: 1 };
  assert.equal(macroF1([perfect, { ...NO_COUNTS, marked: 3 }, { ...NO_COUNTS, found: 9 }]), 0.5);
  assert.equal(macroF1([]), null);
});

test("labels are sets, and a clean text with a label is a false alarm", () => {
  assert.deepEqual(figuresOf(totalOf(countLabels(new Set(["X", "Y"]), new Set(["Y", "Z"])))), {
    tp: 1,
    fp: 1,
    fn: 1,
    precision: 0.5,
    recall: 0.5,
    f1: 0.5,
  });
  const tally = createTally();
  const clean = { spans: undefined, labels: new Set<string>(), tags: [] };
  count(
    tally,
    { ...clean, findings: [mark(0, 1, "X")] },
    only(() => true),
  );
  count(
    tally,
    { ...clean, findings: [] },
    only(() => true),
  );
  assert.deepEqual([tally.cleanCases, tally.falseAlarms], [2, 1]);
});

test("average precision uses steps of equal scores, and recall against all marks", () => {
  const found = [0.9, 0.8, 0.8, 0.4].map((score, at) => ({ score, isRight: at !== 2, matched: at === 2 ? 0 : 1 }));
  // 1/4 * 1/1 + 1/4 * 2/3 + 1/4 * 3/4
  assert.ok(Math.abs((averagePrecision(found, 4) ?? 0) - (1 / 4 + 1 / 6 + 3 / 16)) < 1e-12);
  assert.equal(averagePrecision(found, 0), null);
  assert.equal(averagePrecision([], 3), 0);
});

test("thresholds are every 0.05 and the deciles of the scores", () => {
  assert.equal(STEPS.length, 20);
  assert.deepEqual([STEPS[0], STEPS[1], STEPS[19]], [0, 0.05, 0.95]);
  assert.deepEqual(decilesOf([10, 9, 8, 7, 6, 5, 4, 3, 2, 1]), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
  assert.deepEqual(decilesOf([0.5, 0.5]), [0.5]);
  assert.deepEqual(decilesOf([]), []);
});
