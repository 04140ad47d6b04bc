/** Marking rows: one by one, ranges, and all filtered rows. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { State } from "../../../src/console/model/state.ts";
import { cursorRowOf, listingOf, tableStateOf } from "../../../src/console/store/selectors.ts";
import { online, pressed, ROWS, typed, VIEWS } from "./fixture.ts";

const cursor = (state: State): string | undefined => cursorRowOf(listingOf(state, VIEWS));
const flashMessage = (state: State): string => state.flash?.message ?? "";
const marks = (state: State): readonly string[] => [...tableStateOf(state).marks].sort();

test("Space marks a row and moves on, and stays on the last row", () => {
  const one = pressed(online(), "space");
  assert.deepEqual([marks(one), cursor(one)], [["acme-chat"], "acme-alt"]);
  assert.deepEqual(marks(pressed(one, "space")), ["acme-alt", "acme-chat"]);
  assert.deepEqual(marks(pressed(one, "up space")), []);
  const last = pressed(online(), "G space");
  assert.deepEqual([marks(last), cursor(last)], [["gamma"], "gamma"]);
});

test("* marks all filtered rows, and again unmarks them", () => {
  const filtered = pressed(typed(pressed(online(), "space /"), "alt"), "enter");
  assert.deepEqual(marks(pressed(filtered, "*")), ["acme-alt", "acme-chat"], "what was marked before stays");
  assert.deepEqual(marks(pressed(filtered, "* *")), ["acme-chat"]);
  assert.equal(marks(pressed(online(), "*")).length, ROWS.length);
  assert.match(flashMessage(pressed(online([]), "*")), /no row to mark/);
});

test("Shift with arrows marks row after row, and unmarks those it leaves", () => {
  const three = pressed(online(), "shift-down shift-down");
  assert.deepEqual(marks(three), ["acme-alt", "acme-chat", "pool-eu"]);
  const two = pressed(three, "shift-up");
  assert.deepEqual([marks(two), cursor(two)], [["acme-alt", "acme-chat"], "acme-alt"]);
  assert.deepEqual(marks(pressed(online(), "shift-up")), ["acme-chat"]);
});

test("Ctrl-Space marks from the nearest mark to the cursor, and explains itself if there is none", () => {
  assert.equal(marks(pressed(online(), "space down down ctrl-space")).length, ROWS.length);
  assert.equal(marks(pressed(online(), "G space up up ctrl-space")).length, 3);
  assert.match(flashMessage(pressed(online(), "ctrl-space")), /no row is marked/);
});
