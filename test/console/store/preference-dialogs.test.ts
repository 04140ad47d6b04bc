/** Columns, function keys and panes as operator preferences: each key's dialog, its effect, and what is saved. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { FAVORITE_CHORDS } from "../../../src/console/model/key-event.ts";
import {
  NO_PREFERENCES,
  type PreferenceChange,
  preferencesAfter,
  preferencesOf,
  preferencesText,
  preferencesTextAfter,
} from "../../../src/console/model/preferences.ts";
import type { State, Step } from "../../../src/console/model/state.ts";
import { tableRegions } from "../../../src/console/store/layout.ts";
import { listingOf, tableStateOf } from "../../../src/console/store/selectors.ts";
import { after, backends, lastStep, online, pressed, typed, VIEWS } from "./fixture.ts";

const flashMessage = ({ flash }: State): string | undefined => flash?.message;
const heads = (state: State): readonly string[] => listingOf(state, VIEWS)?.table.columns.map(({ head }) => head) ?? [];

function keptBy({ effects }: Step): PreferenceChange {
  const [effect] = effects;
  assert.ok(effects.length === 1 && effect?.kind === "remember" && effect.what.name === "preferences");
  return effect.what.change;
}

test("# selects columns: Space hides one, Enter and y save the choice, which applies at once", () => {
  const last = lastStep(online(), "# right space enter y");
  assert.deepEqual(keptBy(last), { kind: "columns", view: "providers", hidden: ["rate"] });
  assert.deepEqual(heads(last.state), ["NAME", "STATE"]);
  assert.equal(last.state.dialog, undefined);
  assert.equal(flashMessage(last.state), "2 of 3 columns are shown");
  const back = lastStep(last.state, "# right space enter y");
  assert.deepEqual(keptBy(back), { kind: "columns", view: "providers", hidden: [] });
  assert.deepEqual(heads(back.state), ["NAME", "REQ/s", "STATE"]);
});

test("rows stay sorted by a hidden column, and its letter no longer sorts", () => {
  const order = (state: State): readonly string[] => {
    const listing = listingOf(state, VIEWS);
    return listing?.order.map((at) => listing.table.nameOf(at)) ?? [];
  };
  const hidden = pressed(online(), "# right space enter y");
  assert.deepEqual(order(hidden), order(online()));
  assert.match(flashMessage(pressed(hidden, "S R")) ?? "", /no column has the letter R/);
  assert.equal(listingOf(pressed(hidden, "S s"), VIEWS)?.sort.column, "state");
});

test("hiding all columns cannot be saved, and neither Esc nor Enter alone saves anything", () => {
  const none = pressed(online(), "# space right space right space enter");
  assert.deepEqual(lastStep(none, "y").effects, []);
  assert.match(flashMessage(pressed(none, "y")) ?? "", /at least one column/);
  assert.deepEqual(lastStep(online(), "# space esc").effects, []);
  assert.deepEqual(lastStep(online(), "# space enter").effects, []);
});

test("K saves the view with filter and sort under a function key, which then opens it", () => {
  const shaped = pressed(typed(pressed(online(), "S N /"), "acme"), "enter b");
  const last = lastStep(shaped, "K f3 enter y");
  assert.deepEqual(keptBy(last), {
    kind: "favorite",
    key: "f3",
    favorite: {
      place: { view: "providers" },
      filter: "acme",
      sort: { column: "name", isDescending: false },
      isNarrowed: true,
    },
  });
  assert.match(flashMessage(last.state) ?? "", /^F3 goes to: Providers, filter acme, sort name asc, attention only/);
  const elsewhere = pressed(last.state, "esc esc S R 1");
  const there = pressed(elsewhere, "f3");
  const { filter, sort, isNarrowed } = tableStateOf(there);
  assert.deepEqual(
    [there.place, filter, sort, isNarrowed],
    [{ view: "providers" }, "acme", { column: "name", isDescending: false }, true],
  );
  assert.deepEqual(pressed(there, "-").place, { view: "overview" });
});

test("the first free key is proposed, or the one that has the view already, and a key can be freed", () => {
  const keyOf = (state: State): string | undefined => pressed(state, "K").dialog?.values["key"];
  assert.equal(keyOf(online()), "F1");
  const kept = pressed(online(), "K enter y");
  assert.equal(keyOf(kept), "F1");
  assert.equal(keyOf(pressed(kept, "1")), "F2");
  const freed = lastStep(kept, "K tab right enter y");
  assert.deepEqual(keptBy(freed), { kind: "favorite", key: "f1", favorite: undefined });
  assert.equal(flashMessage(pressed(freed.state, "f1")), "F1 has no view; press K in a view to keep it there");
  assert.match(flashMessage(pressed(online(), "K tab right enter y")) ?? "", /F1 has no view/);
});

test("a favorite whose view or column no longer exists is reported or dropped", () => {
  const favorite = { place: { view: "gone" }, filter: "", sort: undefined, isNarrowed: false };
  const text = preferencesText(preferencesAfter(NO_PREFERENCES, { kind: "favorite", key: "f1", favorite }));
  const state = after(online(), [{ kind: "remembered", name: "preferences", text }]);
  assert.equal(flashMessage(pressed(state, "f1")), "F1: there is no view gone");
  const column = { ...favorite, place: { view: "providers" }, sort: { column: "gone", isDescending: true } };
  const other = preferencesText(preferencesAfter(NO_PREFERENCES, { kind: "favorite", key: "f1", favorite: column }));
  const there = pressed(after(online(), [{ kind: "remembered", name: "preferences", text: other }]), "f1");
  assert.equal(listingOf(there, VIEWS)?.sort.column, "rate");
});

test("from 160 columns on the detail is beside the table; | moves it below, and the choice is saved", () => {
  const wide = { ...online(), size: { columns: 170, rows: 50 } };
  const regions = (state: State) => tableRegions(state.size, backends, state.preferences.isSplit);
  assert.deepEqual(regions(wide), { above: 0, head: 1, rows: 42, pane: 0, side: 68 });
  const below = lastStep(wide, "|");
  assert.deepEqual(keptBy(below), { kind: "split", isSplit: false });
  assert.deepEqual(regions(below.state), { above: 0, head: 1, rows: 33, pane: 9, side: 0 });
  assert.deepEqual(keptBy(lastStep(below.state, "|")), { kind: "split", isSplit: true });
  assert.match(flashMessage(pressed(online(), "|")) ?? "", /two panes need 160 columns, and the terminal has 120/);
  assert.deepEqual(regions({ ...wide, size: { columns: 159, rows: 50 } }).side, 0);
});

test("saved preferences are restored, and two consoles add to the same file", () => {
  const changes: readonly PreferenceChange[] = [
    { kind: "columns", view: "keys", hidden: ["id", "used %"] },
    { kind: "split", isSplit: false },
    {
      kind: "favorite",
      key: "f12",
      favorite: {
        place: { view: "errors", subject: "漢字 a/b" },
        filter: "/5\\d\\d/",
        sort: { column: "time", isDescending: true },
        isNarrowed: true,
      },
    },
  ];
  const text = changes.reduce(preferencesTextAfter, "");
  assert.deepEqual(preferencesOf(text), changes.reduce(preferencesAfter, NO_PREFERENCES));
  assert.deepEqual(preferencesOf(preferencesText(NO_PREFERENCES)), NO_PREFERENCES);
});

test("a file with other content is read as far as it fits", () => {
  for (const text of [
    "",
    "not json",
    "[]",
    "null",
    "12",
    '{"hidden":3,"favorites":[],"isSplit":"no"}',
    '{"hidden":{"keys":"id"},"favorites":{"f5":{"place":{"view":"keys"}},"x":{"place":{"view":"keys"}},"f1":{"place":{}}}}',
    `{"favorites":{"f1":{"place":{"view":${JSON.stringify("x".repeat(5_000))}}}}}`,
  ])
    assert.deepEqual(preferencesOf(text), NO_PREFERENCES, text.slice(0, 80));
  const { hidden, favorites } = preferencesOf(
    '{"hidden":{"keys":["id",3,null]},"favorites":{"f1":{"place":{"view":"keys","subject":4},"filter":9,"sort":{"column":1}}}}',
  );
  assert.deepEqual([...hidden], [["keys", ["id"]]]);
  assert.deepEqual(
    [...favorites],
    [["f1", { place: { view: "keys" }, filter: "", sort: undefined, isNarrowed: false }]],
  );
});

test("letters typed into these dialogs reach no view", () => {
  for (const open of ["#", "K"]) {
    const before = pressed(online(), open);
    for (const letter of "abcdefghijklmnopqrstuvwxzABCDEFGHIJKLMNOPQRSTUVWXYZ#|?:/-*")
      for (const place of ["", " enter"]) {
        const { state, effects } = lastStep(before, `${place === "" ? "" : "enter "}${letter}`);
        assert.deepEqual(
          effects.filter(({ kind }) => kind !== "copy"),
          [],
          `${open} ${letter}`,
        );
        assert.equal(state.dialog?.id, before.dialog?.id, `${open} ${letter}`);
      }
  }
});

test("every function key but F5 can hold a view", () => {
  assert.equal(FAVORITE_CHORDS.includes("f5" as never), false);
  for (const key of FAVORITE_CHORDS) {
    const kept = pressed(online(), `K ${key} enter y 1`);
    assert.equal(pressed(kept, key).place.view, "providers", key);
  }
});
