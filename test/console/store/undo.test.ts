/** `u` undoes the last action in this console, wherever the cursor is, and names it first. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { State } from "../../../src/console/model/state.ts";
import { textOfLine } from "../../../src/console/model/text.ts";
import { contextOf, cursorRowOf, listingOf, offersOf } from "../../../src/console/store/selectors.ts";
import { after, dataOf, lastStep, online, pressed, ROWS, step, VIEWS } from "./fixture.ts";

const cursor = (state: State): string | undefined => cursorRowOf(listingOf(state, VIEWS));
const flashMessage = (state: State): string => state.flash?.message ?? "";
const done = (state: State, result = "provider:acme-chat suspended"): State =>
  step(state, { kind: "task_done", id: state.dialog?.id ?? -1, message: result }).state;
const suspended = (): State => done(pressed(online(), "s enter y"));
const linesOf = ({ dialog, ...state }: State): readonly string[] =>
  (dialog?.dialog.lines({}, contextOf({ ...state, dialog })) ?? []).map(
    ([label, line]) => `${label}: ${textOfLine(line)}`,
  );

test("the cursor stays with the changed row, wherever it moves", () => {
  const state = suspended();
  assert.equal(cursor(state), "acme-chat");
  const rows = ROWS.map((row) => (row.name === "acme-chat" ? { ...row, rate: 0.1 } : row));
  const moved = after(state, [dataOf({ list_backends: rows })]);
  assert.equal(listingOf(moved, VIEWS)?.order[0], 1, "another is the first now");
  assert.equal(cursor(moved), "acme-chat");
});

test("u from another row or another view asks first and names what it undoes", () => {
  for (const way of ["down u", "1 u", "down down u"]) {
    const { state, effects } = lastStep(suspended(), way);
    assert.deepEqual(effects, [], way);
    assert.equal(state.dialog?.dialog.title, "Undo: Lift acme-chat", way);
    assert.deepEqual(linesOf(state), [
      "Undoes: provider:acme-chat suspended, 0s ago in this console",
      "Effect: takes traffic again",
    ]);
  }
  const { effects } = lastStep(suspended(), "1 u y");
  assert.ok(effects[0]?.kind === "task" && effects[0].task.kind === "actions");
  assert.equal(effects[0].task.actions[0]?.operation, "delete_suspension");
});

test("undo is hinted, and disappears once there is nothing to undo", () => {
  const offered = (state: State) => offersOf(state, VIEWS).find(({ offer }) => offer.verb === "lift");
  const state = suspended();
  assert.deepEqual([offered(state)?.offer.label, offered(state)?.disabledReason], ["undo", undefined]);
  assert.equal(offered(online())?.disabledReason, "acme-chat is not suspended");
  const idle = ROWS.map((row) => (row.name === "acme-chat" ? { ...row, state: "idle" } : row));
  const over = after(state, [dataOf({ list_backends: idle })]);
  assert.equal(offered(over)?.disabledReason, "acme-chat is not suspended");
});

test("a failed or irreversible action keeps the previous one undoable", () => {
  const failed = pressed(online(), "s enter y");
  const after = step(failed, { kind: "task_failed", id: failed.dialog?.id ?? -1, message: "no" }).state;
  assert.equal(after.undo, undefined);
  const state = suspended();
  const minted = done(pressed({ ...state, dialog: undefined }, "m"), "minted");
  assert.equal(minted.undo?.doneText, "provider:acme-chat suspended");
});

test("read-only mode offers no undo", () => {
  const state = { ...suspended(), isReadOnly: true };
  assert.match(flashMessage(pressed(state, "u")), /read-only/);
  assert.ok(!offersOf(state, VIEWS).some(({ offer, isShown }) => offer.verb === "lift" && isShown));
});
