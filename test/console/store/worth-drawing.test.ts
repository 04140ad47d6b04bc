/** Skipped redraws: an idle console without news draws only the clock. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Event, State } from "../../../src/console/model/state.ts";
import { isWorthDrawing } from "../../../src/console/store/worth-drawing.ts";
import { after, dataOf, key, NOW, online, pressed, ROWS, step, VIEWS } from "./fixture.ts";

const isDrawn = (state: State, event: Event, isAttended = true): boolean =>
  isWorthDrawing(event, state, step(state, event).state, VIEWS, isAttended);
const tick: Event = { kind: "tick", now: NOW + 1_000 };
const again = dataOf({ list_backends: ROWS }, NOW + 1_000);
const changed = dataOf({ list_backends: ROWS.slice(1) }, NOW + 1_000);

test("an unchanged answer is not drawn, and a changed one is", () => {
  assert.equal(isDrawn(online(), again), false);
  assert.equal(isDrawn(online(), changed), true);
  assert.equal(isDrawn(online(), dataOf({ list_backends: ROWS, list_keys: [] }, NOW)), false);
  const failed = dataOf({});
  assert.equal(isDrawn(online(), failed), true);
});

test("without key presses new values wait for the next second; first answers and failures do not", () => {
  assert.equal(isDrawn(online(), changed, false), false);
  assert.equal(isDrawn(online(), tick, false), true);
  const unread = after(online(), [dataOf({})]);
  assert.equal(isDrawn(unread, again, false), true, "the first answer");
  assert.equal(isDrawn(online(), dataOf({}), false), true, "an answer that is gone");
});

test("a passing second and the effect of a key are drawn", () => {
  assert.equal(isDrawn(online(), tick), true);
  assert.equal(isDrawn(online(), key("down")), true);
});

test("a paused screen is not redrawn by updates, except for overlays", () => {
  const held = pressed(online(), "z");
  assert.equal(isDrawn(held, tick), false);
  assert.equal(isDrawn(held, changed), false);
  assert.equal(isDrawn(held, key("z")), true);
  const asked = pressed(pressed(online(), "s"), "esc");
  assert.equal(isDrawn(pressed(asked, "z"), tick), false);
  const result = after(held, [{ kind: "flash", flash: { message: "saved", tone: "plain" } }]);
  assert.equal(isDrawn(result, { kind: "tick", now: NOW + 60_000 }), true);
  const failure = { status: 0, code: "unreachable", message: "", at: NOW };
  const link = { ...held.link, state: { kind: "offline", since: NOW, retryAt: NOW + 2_000, failure } } as const;
  assert.equal(isDrawn(after(held, [{ kind: "link", link }]), tick), true);
});
