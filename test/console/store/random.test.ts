/** Random keys, pastes, readings, sizes and answers, with invariants. A failure prints its seed. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { MAX_EDIT_LENGTH } from "../../../src/console/edit/edit.ts";
import { NAMED_CHORDS } from "../../../src/console/model/key-event.ts";
import { type Event, MAX_LOG, MAX_PAST, type State } from "../../../src/console/model/state.ts";
import { MAX_TABLES } from "../../../src/console/store/navigation.ts";
import {
  freshnessOf,
  listingOf,
  needsOf,
  offersOf,
  selectionOf,
  statusOf,
  tableStateOf,
  textOf,
} from "../../../src/console/store/selectors.ts";
import { after, dataOf, key, NOW, ROWS, start, step, VIEWS } from "./fixture.ts";

const LETTERS = [..."suXmvfhweyqncd JSNROoztb?:/-1239gGjkr"].map((one) => (one === " " ? "space" : one));
const FAILURE = { status: 503, code: "no_leader", message: "no leader", at: NOW };
const SECRET = "gw-canary-0123456789";
const endpoint = start().link.endpoint;
const link = (kind: "online" | "offline" | "signed_out" | "connecting"): Event => {
  const states = {
    online: { kind: "online" },
    connecting: { kind: "connecting" },
    offline: { kind: "offline", since: NOW, retryAt: NOW + 1_000, failure: FAILURE },
    signed_out: { kind: "signed_out", failure: FAILURE },
  } as const;
  return { kind: "link", link: { endpoint, endpoints: 1, state: states[kind] } };
};

const id = fc.integer({ min: 1, max: 12 });
const text = fc.constantFrom(
  "y",
  "acme-chat",
  "acme-chat\n",
  "prov /acme",
  "/(a+)+/",
  "!ok",
  "\u001b[200~",
  "select 1\n",
);
const event: fc.Arbitrary<Event> = fc.oneof(
  { weight: 30, arbitrary: fc.constantFrom(...LETTERS).map(key) },
  {
    weight: 14,
    arbitrary: fc.constantFrom(...NAMED_CHORDS, "ctrl-z", "ctrl-u", "ctrl-d", "ctrl-r", "ctrl-o").map(key),
  },
  { weight: 4, arbitrary: text.map((pasted): Event => ({ kind: "paste", text: pasted })) },
  { weight: 3, arbitrary: fc.subarray([...ROWS]).map((rows) => dataOf({ list_backends: rows })) },
  {
    weight: 2,
    arbitrary: fc
      .constantFrom("online", "online", "online", "offline", "signed_out", "connecting")
      .map((kind) => link(kind as "online")),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("size" as const),
      columns: fc.integer({ min: -5, max: 300 }),
      rows: fc.integer({ min: -5, max: 100 }),
    }),
  },
  { weight: 1, arbitrary: fc.nat(20_000).map((ms): Event => ({ kind: "tick", now: NOW + ms })) },
  {
    weight: 2,
    arbitrary: id.map((of): Event => ({ kind: "task_done", id: of, message: `made ${SECRET}`, secret: SECRET })),
  },
  { weight: 2, arbitrary: id.map((of): Event => ({ kind: "task_done", id: of, message: "done" })) },
  { weight: 2, arbitrary: id.map((of): Event => ({ kind: "task_failed", id: of, message: "no leader" })) },
  { weight: 1, arbitrary: id.map((of): Event => ({ kind: "page_loaded", id: of, lines: [[{ text: "loaded" }]] })) },
);

const begun = (isReadOnly: boolean): State =>
  after(start({ isReadOnly }), [link("online"), dataOf({ list_backends: ROWS })]);
/** Sequences that random keys alone would rarely form. */
const PHRASES = [
  "esc esc 2 s enter y",
  "s enter y",
  "esc esc esc 2 z X",
  "X a c m e - c h a t enter",
  "m c i tab y",
  "space space s enter y",
  "* s enter y",
  "shift-down ctrl-space s enter y",
  "9 esc",
];
const phrase = fc.constantFrom(...PHRASES).map((chords) => chords.split(" ").map(key));
const events = fc
  .array(fc.oneof({ weight: 7, arbitrary: event.map((one) => [one]) }, { weight: 3, arbitrary: phrase }), {
    maxLength: 100,
    size: "max",
  })
  .map((all) => all.flat());

/** Whether the event confirms the dialog, computed without the code under test. */
function isConfirmation(state: State, by: Event): boolean {
  const { dialog, link: to, isReadOnly, frozen } = state;
  if (dialog === undefined || by.kind !== "key") return false;
  if (isReadOnly || frozen !== undefined || to.state.kind !== "online") return false;
  if (dialog.stage.kind !== "asking" && dialog.stage.kind !== "failed") return false;
  const { confirm, fields } = dialog.dialog;
  if (confirm.kind === "yes")
    return by.chord === "ctrl-o" || (by.chord === "y" && dialog.focus === -1 && dialog.hasStrayInput !== true);
  const isTyped = dialog.typed.text === confirm.expected(dialog.values);
  return isTyped && (by.chord === "ctrl-o" || (by.chord === "enter" && dialog.focus === fields.length));
}

test("each confirmation causes one action, and nothing else causes any", () => {
  let tasks = 0;
  fc.assert(
    fc.property(events, fc.boolean(), (all, isReadOnly) => {
      let state = begun(isReadOnly);
      for (const one of all) {
        const next = step(state, one);
        const asked = next.effects.filter(({ kind }) => kind === "task").length;
        assert.ok(asked === 0 || (asked === 1 && isConfirmation(state, one)));
        tasks += asked;
        state = next.state;
      }
    }),
    { numRuns: 300 },
  );
  assert.ok(tasks > 0, "no run confirmed anything");
});

test("a state stays within its limits, and all of it can be rendered", () => {
  fc.assert(
    fc.property(events, fc.boolean(), (all, isReadOnly) => {
      let state = begun(isReadOnly);
      for (const one of all) {
        state = step(state, one).state;
        assertBounded(state);
        assertSeen(state);
      }
    }),
    { numRuns: 200 },
  );
});

function assertBounded(state: State): void {
  assert.ok(state.past.length <= MAX_PAST && state.log.length <= MAX_LOG && state.tables.size <= MAX_TABLES);
  assert.ok(state.workbench.edit.text.length <= MAX_EDIT_LENGTH);
  assert.ok(state.size.columns >= 1 && state.size.rows >= 1);
  const { dialog } = state;
  if (dialog !== undefined) assert.ok(dialog.focus >= -1 && dialog.focus <= dialog.dialog.fields.length);
  const { dialog: _, ...rest } = state;
  assert.ok(!JSON.stringify({ ...rest, tables: [...state.tables] }).includes(SECRET));
}

function assertSeen(state: State): void {
  const listing = listingOf(state, VIEWS);
  if (listing !== undefined) {
    const { cursor, order } = listing;
    assert.ok(order.length === 0 ? cursor === -1 : cursor >= 0 && cursor < order.length);
    const { offset } = tableStateOf(state);
    assert.ok(offset >= 0 && (cursor === -1 || offset <= cursor));
    const ids = new Set(order.map((at) => listing.table.idOf(at)));
    assert.ok(selectionOf(state, VIEWS).ids.every((one) => ids.has(one)));
  }
  for (const { offer, isShown } of offersOf(state, VIEWS)) assert.ok(isShown || state.isReadOnly, offer.verb);
  assert.ok(needsOf(state, VIEWS).length >= 7);
  assert.ok(statusOf(state, VIEWS).kind !== undefined && freshnessOf(state, VIEWS).word !== "");
  const seen = textOf(state, VIEWS);
  if (seen !== undefined) assert.ok(seen.offset >= 0 && seen.offset <= Math.max(0, seen.lines.length - 1));
}

/** Steps above a place: dialog, prompt, sort, editor, help, page and its filter. */
const MAX_STEPS_ABOVE = 10;
/** Steps of a place itself: filter, marks, narrowing, and then the previous place. */
const MAX_STEPS_OF_PLACE = 4;

test("Esc returns to the root in a limited number of steps when nothing is running, and never quits", () => {
  fc.assert(
    fc.property(events, (all) => {
      let state: State = { ...after(begun(false), all), flash: undefined };
      if (state.dialog?.stage.kind === "running") {
        state = {
          ...after(state, [{ kind: "task_failed", id: state.dialog.id, message: "no leader" }]),
          flash: undefined,
        };
      }
      let steps = 0;
      while (state.flash?.message !== "q quits") {
        const next = step({ ...state, flash: undefined }, key("esc"));
        assert.ok(next.effects.every(({ kind }) => kind === "cancel"));
        state = next.state;
        steps += 1;
        assert.ok(steps <= MAX_STEPS_ABOVE + MAX_STEPS_OF_PLACE * (MAX_PAST + 1));
      }
      assert.deepEqual(
        [state.dialog, state.prompt, state.page, state.past.length],
        [undefined, undefined, undefined, 0],
      );
    }),
    { numRuns: 300 },
  );
});
