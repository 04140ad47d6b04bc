/** A workbench with tables, and a sequence of keys. */

import type { QueryResult } from "../../../src/admin-api/index.ts";
import type { Chord } from "../../../src/console/model/key-event.ts";
import type { Effect, Event, WorkbenchState } from "../../../src/console/model/state.ts";
import { type Line, textOfLine } from "../../../src/console/model/text.ts";
import { stepWorkbench } from "../../../src/console/workbench/step-workbench.ts";
import { EMPTY_WORKBENCH, type WorkbenchFacts, type WorkbenchStep } from "../../../src/console/workbench/workbench.ts";

/** 2026-01-10T00:00:00Z. */
export const NOW = Date.UTC(2026, 0, 10);

const table = (name: string, ...columns: readonly string[]) => ({
  name,
  description: "",
  columns: columns.map((column) => ({ name: column, type: "text" as const, description: "" })),
});

export const TABLES = [
  table("backends", "name", "state", "error_ratio"),
  table("budgets", "budget", "bucket", "key", "used", "limit"),
  table("keys", "id", "name", "profile", "status"),
  table("profiles", "name", "budget"),
];

export const facts = (changes: Partial<WorkbenchFacts> = {}): WorkbenchFacts => ({
  tables: TABLES,
  nodes: { own: "n1", members: 3 },
  now: NOW,
  nextId: 7,
  size: { columns: 80, rows: 20 },
  ...changes,
});

export const withText = (text: string, at = text.length): WorkbenchState => ({
  ...EMPTY_WORKBENCH,
  edit: { text, at },
});

export const press = (workbench: WorkbenchState, chord: Chord, changes?: Partial<WorkbenchFacts>): WorkbenchStep =>
  stepWorkbench(workbench, { kind: "key", chord }, facts(changes));

/** Presses each chord in turn; returns the effects of all. */
export function pressAll(
  workbench: WorkbenchState,
  chords: readonly Chord[],
): { readonly workbench: WorkbenchState; readonly effects: readonly Effect[] } {
  const effects: Effect[] = [];
  let state = workbench;
  for (const chord of chords) {
    const step = press(state, chord);
    effects.push(...step.effects);
    state = step.workbench;
  }
  return { workbench: state, effects };
}

export const typed = (text: string): readonly Chord[] =>
  [...text].map((character) => (character === " " ? "space" : character === "\n" ? "enter" : character));

export const on = (workbench: WorkbenchState, event: Event): WorkbenchState =>
  stepWorkbench(workbench, event, facts()).workbench;

export const RESULT: QueryResult = {
  columns: [
    { name: "name", type: "text" },
    { name: "used", type: "integer" },
    { name: "tags", type: "json" },
  ],
  rows: [
    ["acme", 12, '["a","b"]'],
    [null, 1_000_000, "[]"],
    ["", -3, null],
  ],
  index: 88_412,
};

export const withResult = (result: QueryResult = RESULT, isEditing = false): WorkbenchState => ({
  ...withText("select name, used, tags from t"),
  isEditing,
  run: { kind: "done", result, tookMs: 11, asked: { nodesText: "of n1", missing: undefined } },
});

export const textsOf = (lines: readonly Line[]): readonly string[] => lines.map(textOfLine);
