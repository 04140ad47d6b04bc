/** Sweeps: the plot with its line, the changing cases, and the written threshold. */
import assert from "node:assert/strict";
import test from "node:test";
import type { Trial } from "../../../src/console/model/documents.ts";
import type { Sweep, SweepFigures, SweepResult, SweepStep } from "../../../src/console/model/sweep.ts";
import { textOfLine } from "../../../src/console/model/text.ts";
import { sweepsView } from "../../../src/console/views/sweeps.ts";
import { bodyOf, cellAt, contextOf, dialogOf, startOf, tableOfView, textsOf, whyOf, wordsOf } from "./keys-fixture.ts";

const figures = (precision: number, recall: number): SweepFigures => ({
  tp: 8,
  fp: 2,
  fn: 1,
  precision,
  recall,
  f1: (2 * precision * recall) / (precision + recall),
});
const step = (threshold: number, wrong: number, [precision, recall]: readonly [number, number]): SweepStep => ({
  threshold,
  isQuantile: threshold === 0.6,
  figures: { exact: figures(precision, recall), overlap: figures(1, 1), labels: null },
  wrong: new Uint8Array([wrong]),
});
const RESULT: SweepResult = {
  files: ["c.jsonl"],
  cases: 3,
  steps: [
    step(0, 0b001, [0.6, 1]),
    step(0.4, 0b001, [0.7, 0.9]),
    step(0.6, 0b100, [0.95, 0.85]),
    step(0.95, 0b110, [1, 0.2]),
  ],
  averagePrecision: { exact: 0.91, overlap: 1, labels: null },
  inForce: 0.4,
  detector: undefined,
  isOwnThreshold: false,
  source: "team-ml",
  changedCases: [
    {
      index: 0,
      file: "c.jsonl",
      line: 1,
      excerpt: "a date\u001b[31m",
      sides: [
        { from: 0, fault: "finds DATE_TIME 0.50" },
        { from: 2, fault: "" },
      ],
    },
    {
      index: 2,
      file: "c.jsonl",
      line: 3,
      excerpt: "a name",
      sides: [
        { from: 0, fault: "" },
        { from: 2, fault: "misses PERSON" },
      ],
    },
  ],
  changedCount: 2,
  notes: ["! the detector failed\u001b"],
};
const done: Sweep = { argumentText: "c.jsonl", state: { kind: "done", result: RESULT } };
const trial = (others: Partial<Trial> = {}): Trial => ({
  problems: [],
  change: {
    source: "team-ml",
    revision: 4,
    file: undefined,
    text: "guardrails:\n  score_threshold: 0.4\n",
    after: "guardrails:\n  score_threshold: 0.6\n",
  },
  compiling: { kind: "compiles", warnings: [] },
  blockedReason: undefined,
  ...others,
});
const swept = (tried?: Trial, sweep: Sweep | undefined = done, others = {}) =>
  contextOf({ list_sources: [], ...(tried !== undefined && { threshold_trial: tried }) }, { sweep, ...others });

test("each threshold has its figures and changing cases, and the cursor starts at the one in force", () => {
  const table = tableOfView(sweepsView, swept());
  assert.equal(table.startId, "0.4");
  assert.deepEqual(
    [0, 1, 2, 3].map((at) =>
      ["threshold", "mark", "precision", "wrong", "turn"].map((id) => cellAt(table, at, id)).join("|"),
    ),
    ["0.00||0.600|1|-", "0.40|in force|0.700|1|-", "0.60|best F1, decile|0.950|1|+1 -1", "0.95||1.000|2|+0 -1"],
  );
});

test("the plot has a band of bars each, and a line at the cursor and at the threshold in force", () => {
  const above = (id: string, isAscii: boolean, rows = 9) =>
    bodyOf(sweepsView).above?.(swept(undefined, done, { isAscii }), { columns: 100, rows }, id) ?? [];
  const lines = above("0.6", false);
  const texts = lines.map(textOfLine);
  assert.equal(texts.length, 9);
  for (const text of texts.slice(0, 6)) assert.equal([...text].length, 100);
  assert.match(texts[0] ?? "", /^precision 1\.0 .*0\.950$/);
  assert.match(texts[2] ?? "", /^recall {4}1\.0 .*0\.850$/);
  assert.match(texts[7] ?? "", /\| 0\.40 in force.*\^ 0\.60/);
  const chosen = lines.slice(0, 6).map((line) => line.find(({ isInverse }) => isInverse)?.text);
  assert.deepEqual(
    chosen,
    Array.from({ length: 6 }, () => "│"),
  );
  assert.match(above("0.4", false).map(textOfLine)[7] ?? "", /\^ 0\.40 in force/);
  // To the right precision rises and recall falls.
  const [head = ""] = texts;
  assert.notEqual(head[16], head[89]);
  for (const text of above("0.95", true).map(textOfLine)) assert.match(text, /^[\x20-\x7e│]*$/);
  assert.deepEqual(above("0.6", true, 4), []);
});

test("the pane compares with the threshold in force, and that one with the previous", () => {
  const pane = textsOf(bodyOf(sweepsView).pane?.("0.6", swept()) ?? []);
  assert.match(
    pane[1] ?? "",
    /^chosen +0\.60 {2}precision 0\.950, recall 0\.850, F1 0\.897 {2}by exact; f goes to overlap/,
  );
  assert.match(pane[2] ?? "", /^in force +0\.40/);
  assert.match(pane[3] ?? "", /1 right that was wrong, 1 wrong that was right, against 0\.40 in force$/);
  assert.deepEqual(pane.slice(4), [
    "+ c.jsonl:1  right; before finds DATE_TIME 0.50  “a date\\u001b[31m”",
    "! c.jsonl:3  misses PERSON  “a name”",
  ]);
  assert.match(textsOf(bodyOf(sweepsView).pane?.("0.4", swept()) ?? []).join("\n"), /against 0\.00, the one before/);
  const page = startOf(sweepsView, "errors", ["0.6"], swept());
  assert.match(
    page.kind === "page" ? textsOf(page.lines).join("\n") : "",
    /average precision 0\.910[\s\S]*! the detector failed\\u001b/,
  );
});

test("f switches the score and keeps the cursor", () => {
  assert.deepEqual(startOf(sweepsView, "follow", ["0.6"], swept()), {
    kind: "go",
    place: { view: "sweeps", subject: "overlap" },
    row: "0.6",
  });
  const table = tableOfView(sweepsView, swept(undefined, done, { subject: "overlap" }));
  assert.equal(cellAt(table, 0, "precision"), "1.000");
});

test("x asks for files and runs; x again stops it, and the view shows progress", () => {
  const prompt = startOf(sweepsView, "run", [], swept(undefined, undefined));
  const next = prompt.kind === "ask" ? prompt.next("c.jsonl") : undefined;
  assert.deepEqual(next, { kind: "job", job: { kind: "sweep", argumentText: "c.jsonl" }, place: { view: "sweeps" } });
  const running: Sweep = {
    argumentText: "c.jsonl",
    state: { kind: "running", id: 7, message: "scored 3 of 9 cases" },
  };
  assert.deepEqual(startOf(sweepsView, "run", [], swept(undefined, running)), {
    kind: "cancel",
    id: 7,
    message: "stopping",
  });
  assert.match(bodyOf(sweepsView).empty(swept(undefined, running)).sentence, /scored 3 of 9 cases/);
  const failed: Sweep = {
    argumentText: "c.jsonl",
    state: { kind: "failed", problems: ["c.jsonl:2: no\u001b", "b", "c", "d"] },
  };
  assert.match(
    bodyOf(sweepsView).empty(swept(undefined, failed)).sentence,
    /SWEEP FAILED: c\.jsonl:2: no\\u001b; b; c; and 1 more/,
  );
});

test("the threshold is written by a dialog that shows the line that changes, typed to confirm", () => {
  const context = swept(trial());
  assert.equal(whyOf(sweepsView, "write", ["0.4"], context), "0.40 is in force");
  const early = dialogOf(startOf(sweepsView, "write", ["0.6"], swept()));
  assert.match(wordsOf(early, swept()).join("\n"), /still testing/);
  assert.equal(early.blockedReason?.({}, swept()), "still testing; try again shortly");
  assert.match(wordsOf(early, context).join("\n"), /score_threshold: 0\.6/);
  assert.equal(early.blockedReason?.({}, context), undefined);
  const other = swept({ ...trial(), change: { ...(trial().change ?? assert.fail()), text: "guardrails: {}\n" } });
  assert.match(early.blockedReason?.({}, other) ?? "", /changed since this dialog was opened/);
  assert.equal(whyOf(sweepsView, "write", ["0.6"], context), undefined);
  assert.deepEqual(bodyOf(sweepsView).paneNeeds?.("0.6", context), [
    { id: "threshold_trial", name: '["team-ml","0.6"]' },
  ]);
  assert.deepEqual(bodyOf(sweepsView).paneNeeds?.("0.4", context), []);
  const dialog = dialogOf(startOf(sweepsView, "write", ["0.6"], context));
  const dialogText = wordsOf(dialog, context).join("\n");
  assert.match(dialogText, /Writes: source team-ml, over revision 4/);
  assert.match(dialogText, /score_threshold: 0\.4[\s\S]*score_threshold: 0\.6/);
  assert.equal(dialog.confirm.kind === "typed" && dialog.confirm.expected({}), "0.6");
  assert.equal(dialog.blockedReason?.({}, context), undefined);
  assert.deepEqual(dialog.task({}, context), {
    kind: "job",
    job: { kind: "write_change", change: trial().change, summary: "the threshold is 0.6" },
  });
});

test("a detector's own threshold is swept, named and written, and the data files are named", () => {
  const result: SweepResult = { ...RESULT, detector: "finder", isOwnThreshold: true };
  const of = (changes: Partial<SweepResult>): Sweep => ({
    argumentText: "c.jsonl",
    state: { kind: "done", result: { ...result, ...changes } },
  });
  const lines = (sweep: Sweep): string =>
    textsOf(bodyOf(sweepsView).pane?.("0.6", swept(trial(), sweep)) ?? []).join("\n");
  assert.match(lines(of({})), /swept +c\.jsonl {2}3 cases {2}detector finder {2}threshold of finder/);
  assert.match(lines(of({ isOwnThreshold: false })), /detector finder {2}guardrails\.score_threshold/);
  assert.match(lines(done), /swept +c\.jsonl {2}3 cases {2}all detectors {2}guardrails\.score_threshold/);
  assert.match(lines(of({ files: ["a", "b", "c", "d"] })), /a, b, c and 1 more/);
  const context = swept(trial(), of({}));
  assert.deepEqual(bodyOf(sweepsView).paneNeeds?.("0.6", context), [
    { id: "threshold_trial", name: '["team-ml","0.6 finder"]' },
  ]);
  assert.equal(dialogOf(startOf(sweepsView, "write", ["0.6"], context)).title, "Set threshold of finder to 0.6");
});
