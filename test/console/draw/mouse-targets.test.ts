/**
 * Effects of a click and the wheel on the screen: rows, tabs, hints, the bar of views; and that nothing is confirmed.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { drawScreen } from "../../../src/console/draw/draw-screen.ts";
import { eventsOfMouse } from "../../../src/console/draw/mouse-targets.ts";
import type { State } from "../../../src/console/model/state.ts";
import { textOfLine } from "../../../src/console/model/text.ts";
import { listingOf } from "../../../src/console/store/selectors.ts";
import { after, dataOf, key, ROWS, start, step, VIEWS } from "../store/fixture.ts";

const SIZE = { columns: 120, rows: 35 };

function begun(): State {
  const state = start({ size: SIZE, place: { view: "providers" } });
  const online = { kind: "link", link: { ...state.link, state: { kind: "online" } } } as const;
  return after(state, [online, dataOf({ list_backends: ROWS })]);
}

/** Clicks the first cell of the text, wherever it is. */
function press(state: State, text: string, by = 0): State {
  const lines = drawScreen(state, VIEWS, () => []).map(textOfLine);
  const row = lines.findLastIndex((line) => line.includes(text));
  assert.ok(row >= 0, `${text} is not on the screen:\n${lines.join("\n")}`);
  const column = (lines[row] ?? "").indexOf(text) + by;
  return eventsOfMouse(state, VIEWS, { kind: "press", column, row }).reduce(
    (one, event) => step(one, event).state,
    state,
  );
}

const cursorOf = (state: State): string => {
  const listing = listingOf(state, VIEWS);
  return listing?.table.nameOf(listing.order[listing.cursor] ?? 0) ?? "";
};

test("a click on a row moves the cursor there, and one on the selected row opens it", () => {
  const moved = press(begun(), "pool-eu");
  assert.equal(cursorOf(moved), "pool-eu");
  assert.deepEqual([moved.place.view, moved.dialog], ["providers", undefined]);
  const at = drawScreen(moved, VIEWS, () => [])
    .map(textOfLine)
    .findIndex((line) => line.includes(">pool-eu"));
  const [event] = eventsOfMouse(moved, VIEWS, { kind: "press", column: 4, row: at });
  assert.deepEqual(event, { kind: "key", chord: "enter" });
});

test("a click on a column head sorts by it, and a second one reverses the order", () => {
  const sortOf = (state: State) => listingOf(state, VIEWS)?.sort;
  const byName = press(begun(), "NAME", 2);
  assert.deepEqual(sortOf(byName), { column: "name", isDescending: false });
  assert.deepEqual(sortOf(press(byName, "NAME")), { column: "name", isDescending: true });
  assert.deepEqual(sortOf(press(byName, "REQ/s", 4)), { column: "rate", isDescending: true });
  assert.deepEqual(sortOf(press(begun(), "STATE")), { column: "state", isDescending: false });
});

test("with two panes, clicks match the drawn table, and the detail ignores them", () => {
  const wide: State = { ...begun(), size: { columns: 170, rows: 50 } };
  assert.equal(cursorOf(press(wide, "pool-eu")), "pool-eu");
  assert.deepEqual(listingOf(press(wide, "STATE"), VIEWS)?.sort, { column: "state", isDescending: false });
  for (let row = 4; row < 40; row += 1)
    assert.deepEqual(eventsOfMouse(wide, VIEWS, { kind: "press", column: 130, row }), [], String(row));
});

test("the wheel moves the cursor by rows", () => {
  const events = eventsOfMouse(begun(), VIEWS, { kind: "wheel_down", column: 1, row: 1 });
  assert.deepEqual(events, [key("down"), key("down"), key("down")]);
});

test("a click on a hint presses its key; in a dialog only the one that cancels", () => {
  const asking = press(begun(), "s suspend", 3);
  assert.ok(asking.dialog !== undefined);
  const rows = drawScreen(asking, VIEWS, () => []).length;
  for (let row = 0; row < rows; row += 1)
    for (let column = 0; column < SIZE.columns; column += 1)
      for (const event of eventsOfMouse(asking, VIEWS, { kind: "press", column, row }))
        assert.deepEqual(event, key("esc"));
});

test("a click anywhere changes nothing at the gateway", () => {
  let state = begun();
  for (let row = 0; row < SIZE.rows; row += 1)
    for (let column = 0; column < SIZE.columns; column += 3)
      for (const event of eventsOfMouse(state, VIEWS, { kind: "press", column, row })) {
        const next = step(state, event);
        assert.ok(next.effects.every(({ kind }) => kind !== "task"));
        state = next.state;
      }
});
