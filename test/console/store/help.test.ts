/** The help: typing searches every key and action, and Enter runs the selected one. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { COMMON, MOVING, VERBS } from "../../../src/console/model/key-bindings.ts";
import type { State } from "../../../src/console/model/state.ts";
import { textOfLine } from "../../../src/console/model/text.ts";
import { helpOf } from "../../../src/console/store/help.ts";
import { searchEntries } from "../../../src/console/store/help-entries.ts";
import { bodyCells, bodyRows } from "../../../src/console/store/layout.ts";
import { key, lastStep, NOW, online, pressed, step, typed, VIEWS } from "./fixture.ts";

/** Returns the entry that Enter runs, and all matches. */
function found(state: State): { readonly chosen: string | undefined; readonly all: readonly string[] } {
  const { sections, chosen } = searchEntries(state, VIEWS);
  const all = sections.flatMap(({ entries }) => entries.map(({ key: text, help }) => `${text} ${help}`));
  return { chosen: all[chosen], all };
}

const searched = (text: string, from = online()): State => typed(pressed(from, "?"), text);

test("a search finds keys and actions by their descriptions and selects the best match", () => {
  const table: readonly (readonly [typed: string, chosen: RegExp])[] = [
    ["suspend", /^s suspend/],
    ["SUSPEND", /^s suspend/],
    ["X", /^X revoke, delete/],
    ["S", /^S sort by/],
    ["Esc", /^Esc one step back/],
    ["copy", /^c copy the name/],
    ["row up", /^Up k one row up/],
    ["errors", /^e show the errors/],
    ["what failed", /^:errors what failed/],
    ["JSON", /^J the row as the admin API/],
    ["redraw", /^r Ctrl-L F5 read everything/],
  ];
  for (const [text, chosen] of table) assert.match(found(searched(text)).chosen ?? "", chosen, text);
  assert.deepEqual(found(searched("no such key")), { chosen: undefined, all: [] });
});

test("a verb of another view is found, and Enter goes to that view", () => {
  const state = searched("providers mint", online([], { place: { view: "overview" } }));
  assert.match(found(state).chosen ?? "", /^m in Providers, mint: /);
  assert.equal(pressed(state, "enter").place.view, "providers");
  const readOnly = online([], { place: { view: "overview" }, isReadOnly: true });
  assert.deepEqual(found(searched("providers mint", readOnly)).all, []);
});

test("Enter runs the selected entry: opens a dialog, goes to a view, moves, or says why it cannot", () => {
  const suspend = pressed(searched("suspend"), "enter");
  assert.equal(suspend.dialog?.dialog.title, pressed(online(), "s").dialog?.dialog.title);
  assert.equal(suspend.prompt, undefined);
  assert.equal(pressed(searched("all at a glance"), "enter").place.view, "overview");
  assert.equal(pressed(searched("sort by the column whose"), "enter").awaitsColumnFor, "sort");
  assert.equal(pressed(searched("freeze the screen"), "enter").frozen?.now, NOW);
  assert.match(pressed(searched("lift the suspension"), "enter").flash?.message ?? "", /is not suspended/);
  const copied = lastStep(searched("copy the name"), "enter");
  assert.deepEqual(copied.effects, [{ kind: "copy", text: "acme-chat" }]);
  const digits = pressed(searched("view of that number"), "enter");
  assert.match(digits.flash?.message ?? "", /one of the keys 1-9/);
  assert.equal(digits.prompt?.kind, "help");
});

test("for a rebound key the help entry's own action runs", () => {
  const keys = { ownOf: new Map([["F", "s"]]), shown: new Map([["s", "F"]]), freed: new Set(["s"]) };
  const state = searched("suspend the provider", online(undefined, { keys }));
  assert.match(found(state).chosen ?? "", /^F suspend/);
  assert.notEqual(pressed(state, "enter").dialog, undefined);
});

test("Up, Down, PgUp and PgDn select among the matches, and typing selects again", () => {
  const state = pressed(online(), "?");
  const { all } = found(state);
  assert.equal(found(state).chosen, all[0]);
  assert.equal(found(pressed(state, "down down up")).chosen, all[1]);
  assert.equal(found(pressed(state, "up")).chosen, all[0]);
  assert.equal(found(pressed(state, "pagedown pagedown pagedown pagedown pagedown pagedown")).chosen, all.at(-1));
  assert.equal(
    found(typed(pressed(state, "down down"), "sort by the next")).chosen,
    "Shift-Right sort by the next column",
  );
});

test("? opens and closes the help, Esc closes it, and within a search ? is a letter", () => {
  const state = pressed(online(), "?");
  assert.equal(state.prompt?.kind, "help");
  assert.equal(pressed(state, "?").prompt, undefined);
  assert.equal(pressed(state, "esc").prompt, undefined);
  assert.equal(pressed(state, "a ?").prompt?.edit.text, "a?");
  assert.equal(pressed(state, "a esc ?").prompt?.edit.text, "");
});

test("the selected entry is visible at every size, and no line is wider than the screen", () => {
  for (const [columns, rows] of [
    [60, 16],
    [80, 24],
    [120, 35],
    [170, 50],
  ] as const) {
    let state: State = { ...pressed(online(), "?"), size: { columns, rows } };
    for (let at = 0; at < found(state).all.length; at += 1) {
      const { lines, offset } = helpOf(state, VIEWS);
      const shown = lines.slice(offset, offset + bodyRows(state.size));
      assert.ok(
        shown.some((line) => line.some(({ isInverse }) => isInverse === true)),
        `${columns}x${rows}: entry ${at}`,
      );
      for (const line of lines) assert.ok(textOfLine(line).length <= bodyCells(state.size));
      state = pressed(state, "down");
    }
  }
});

test("no letter typed into the help affects the view below", () => {
  const letters = [...Object.values(VERBS).map(({ chord }) => chord), ..."y qrzOgGSkjdJcotb:/-123456789 "];
  const chords = [
    ...letters.map((one) => (one === " " ? "space" : one)),
    ...MOVING.mark_all.chords,
    ...COMMON.help.chords,
  ];
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...chords), { minLength: 1, maxLength: 30 }), (all) => {
      const before = pressed(online(), "? a");
      let state = before;
      for (const chord of all) {
        const next = step(state, key(chord));
        assert.deepEqual(next.effects, []);
        state = next.state;
      }
      assert.deepEqual({ ...state, prompt: before.prompt, flash: undefined }, before);
      assert.equal(state.prompt?.edit.text.length, 1 + all.length);
    }),
    { numRuns: 100 },
  );
});
