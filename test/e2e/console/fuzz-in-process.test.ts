/**
 * The same test without a terminal, with events that no keyboard makes: readings that come and go, answers out of
 * order, connection states in any order. It uses the real views and the reducer. A failure prints its seed.
 *
 * GATEWAY_FUZZ=100000 node --import tsx --test --test-timeout=3600000 test/e2e/console/fuzz-in-process.test.ts
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { cellsOf } from "../../../src/base/index.ts";
import { drawScreen } from "../../../src/console/draw/draw-screen.ts";
import { renderTree } from "../../../src/console/draw/screen-reader.ts";
import { VERBS } from "../../../src/console/model/key-bindings.ts";
import type { Event, State } from "../../../src/console/model/state.ts";
import { textOfLine } from "../../../src/console/model/text.ts";
import { createStep } from "../../../src/console/store/reducer.ts";
import { whyNotConfirmed } from "../../../src/console/store/step-dialog.ts";
import { VIEWS } from "../../../src/console/views/all.ts";
import { drawWorkbench } from "../../../src/console/workbench/draw-workbench.ts";
import { stepWorkbench } from "../../../src/console/workbench/step-workbench.ts";
import { randomRuns } from "../../support/random-length.ts";
import { dataOf, gesture, letters, NOW, online, startOf } from "./incident/readings.ts";

/** Approximate number of events. */
const COUNT = Number(process.env["GATEWAY_FUZZ"] ?? randomRuns(10_000, 3_000));
const EACH = 200;

const step = createStep({ views: VIEWS, stepWorkbench });

/** Whether the event confirms the dialog, computed without the code under test. */
function isConfirmation({ dialog, link, isReadOnly, frozen, size }: State, by: Event): boolean {
  if (dialog === undefined || by.kind !== "key") return false;
  if (size.columns < 60 || size.rows < 16) return false;
  if (isReadOnly || frozen !== undefined || link.state.kind !== "online") return false;
  if (dialog.stage.kind !== "asking" && dialog.stage.kind !== "failed") return false;
  const { confirm, fields } = dialog.dialog;
  if (confirm.kind === "yes")
    return by.chord === "ctrl-o" || (by.chord === "y" && dialog.focus === -1 && dialog.hasStrayInput !== true);
  const isTyped = dialog.typed.text === confirm.expected(dialog.values);
  return isTyped && (by.chord === "ctrl-o" || (by.chord === "enter" && dialog.focus === fields.length));
}

test("no random input throws, every screen has its exact size, and an action follows only a confirmation", (t) => {
  const counts = { events: 0, tasks: 0 };
  fc.assert(
    fc.property(
      fc.array(gesture, { minLength: EACH / 2, maxLength: EACH, size: "max" }),
      fc.boolean(),
      (all, isReadOnly) => {
        let state = startOf(isReadOnly);
        for (const event of [{ kind: "data", data: dataOf(), now: NOW } as const, online, ...all.flat()]) {
          const next = step(state, event);
          const tasks = next.effects.filter(({ kind }) => kind === "task").length;
          assert.ok(tasks === 0 || (tasks === 1 && isConfirmation(state, event)), JSON.stringify(event));
          if (tasks > 0) assert.equal(whyNotConfirmed(state), undefined);
          counts.events += 1;
          counts.tasks += tasks;
          state = next.state;
          assertDrawn(state);
        }
        assert.ok(
          Array.isArray(renderTree(state, VIEWS, drawWorkbench)) ||
            renderTree(state, VIEWS, drawWorkbench) !== undefined,
        );
      },
    ),
    { numRuns: Math.max(1, Math.round(COUNT / (EACH * 1.4))) },
  );
  assert.ok(counts.tasks > 0, "no run confirmed anything");
  t.diagnostic(`${counts.events} events, ${counts.tasks} tasks`);
});

const PLACES = [
  ...VIEWS.map(({ id }) => id),
  "errors acme-chat",
  "pool acme-chat",
  "revisions default",
  "keys ci-main",
];
const CHORDS = Object.values(VERBS).map(({ chord }) => chord);
const key = (chord: string): Event => ({ kind: "key", chord });
const after = (state: State, events: readonly Event[]): State =>
  events.reduce((before, event) => step(before, event).state, state);
/** Rows of each view on which a verb is tried. */
const ROWS = 4;

/** Every dialog that a verb opens on the first rows of every view, by its view, verb and title. */
function openedDialogs(): ReadonlyMap<string, State> {
  const opened = new Map<string, State>();
  const begun = after(startOf(false), [{ kind: "data", data: dataOf(), now: NOW }, online]);
  for (const place of PLACES) {
    const typed = [...place].map((one) => key(one === " " ? "space" : one));
    let there = after(begun, [key(":"), ...typed, key("enter"), key("esc")]);
    for (let row = 0; row < ROWS; row += 1) {
      for (const chord of CHORDS) {
        const { state } = step(there, key(chord));
        if (state.dialog !== undefined) opened.set(`${place} ${chord} ${state.dialog.dialog.title}`, state);
      }
      there = after(there, [key("down")]);
    }
  }
  return opened;
}

test("text typed at any dialog of any view changes nothing and leaves the dialog open", (t) => {
  const dialogs = openedDialogs();
  t.diagnostic(`${dialogs.size} dialogs`);
  assert.ok(dialogs.size > 25, [...dialogs.keys()].join("\n"));
  const text = fc.array(fc.constantFrom(...letters, "y", "q", "Y", "Q", "space"), { minLength: 1, maxLength: 30 });
  for (const [name, open] of dialogs) {
    const { dialog: { fields, confirm } = { fields: [], confirm: { kind: "yes" } }, id } = open.dialog ?? {};
    fc.assert(
      fc.property(text, (typed) => {
        // Without a field y is the answer, and no text begins with it.
        fc.pre(fields.length > 0 || confirm.kind === "typed" || typed[0] !== "y");
        let state = open;
        for (const one of typed) {
          const next = step(state, key(one));
          assert.ok(!next.effects.some(({ kind }) => kind === "task" || kind === "job"), `${name}: ${typed.join("")}`);
          state = next.state;
        }
        assert.equal(state.dialog?.id, id, `${name}: ${typed.join("")}`);
      }),
      { numRuns: 20 },
    );
  }
});

function assertDrawn(state: State): void {
  const { columns, rows } = state.size;
  const lines = drawScreen(state, VIEWS, drawWorkbench);
  assert.equal(lines.length, Math.max(1, rows - 1));
  for (const line of lines) {
    const text = textOfLine(line);
    assert.ok(cellsOf(text) <= columns, `${cellsOf(text)} cells of ${columns}: ${text}`);
    assert.doesNotMatch(text, CONTROLS);
  }
}

const CONTROLS = /\p{Cc}/u;
