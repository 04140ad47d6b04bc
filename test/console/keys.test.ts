/**
 * The keys as one language: a letter means one thing everywhere, and the help lists everything that works. The tables
 * are those that the handler, the hints and the help read. Source: operator console reference, B2.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { chordsText, chordText } from "../../src/console/format/keys-text.ts";
import { CHARTS, COMMON, DIALOG, MOVING, VERBS } from "../../src/console/model/key-bindings.ts";
import { type Chord, characterOf } from "../../src/console/model/key-event.ts";
import type { State } from "../../src/console/model/state.ts";
import type { View } from "../../src/console/model/view.ts";
import { sectionsOf } from "../../src/console/store/help-entries.ts";
import { commandOfText } from "../../src/console/store/parse-command.ts";
import { createStep } from "../../src/console/store/reducer.ts";
import { VIEWS } from "../../src/console/views/all.ts";
import { stepWorkbench } from "../../src/console/workbench/step-workbench.ts";
import { WORKBENCH_KEYS } from "../../src/console/workbench/workbench-keys.ts";
import { key, start, suspendDialog } from "./store/fixture.ts";

const VERB_KEYS = Object.values(VERBS);
const COMMON_KEYS = Object.values(COMMON);
const MOVING_KEYS = Object.values(MOVING);

const chordsOf = (keys: readonly { readonly chords: readonly Chord[] }[]): readonly Chord[] =>
  keys.flatMap(({ chords }) => chords);

/** Returns each repetition. */
const repeated = (texts: readonly string[]): readonly string[] =>
  texts.filter((text, at) => texts.indexOf(text) !== at);

const isLetter = (chord: Chord): boolean => /^\p{L}$/u.test(chord);

test("a chord has one meaning among verbs, movement and global keys", () => {
  const all = [...VERB_KEYS.map(({ chord }) => chord), ...chordsOf(COMMON_KEYS), ...chordsOf(MOVING_KEYS)];
  assert.deepEqual(repeated(all), []);
});

test("every verb is a letter, offered by some view, at most once per view", () => {
  for (const { chord } of VERB_KEYS) assert.ok(isLetter(chord), chord);
  const offered = new Set<string>(VIEWS.flatMap(({ offers }) => offers.map(({ verb }) => verb)));
  assert.deepEqual(
    Object.keys(VERBS).filter((verb) => !offered.has(verb)),
    [],
  );
  for (const { id, offers } of VIEWS) assert.deepEqual(repeated(offers.map(({ verb }) => verb)), [], id);
});

test("a dialog uses only the letters y and c, and ignores all others", () => {
  assert.deepEqual(chordsOf(Object.values(DIALOG)).filter(isLetter), ["y", "c"]);
  const step = createStep({ views: VIEWS, stepWorkbench });
  const online = start({ place: { view: "providers" } });
  const link: State["link"] = { ...online.link, state: { kind: "online" } };
  const dialog: State["dialog"] = {
    id: 1,
    dialog: suspendDialog(["acme"]),
    values: { reason: "incident", duration: "30m", nodes: "n1" },
    focus: -1,
    typed: { text: "", at: 0 },
    edit: { text: "", at: 0 },
    stage: { kind: "asking" },
  };
  const asking: State = { ...online, link, dialog };
  for (const letter of "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") {
    const { state, effects } = step(asking, key(letter));
    const isTask = effects.some(({ kind }) => kind === "task");
    assert.equal(isTask, letter === "y", letter);
    assert.equal(state.dialog?.id, 1, letter);
  }
});

/** Letters of the workbench while its result has the focus, with their meaning elsewhere and the text of both. */
const SAME_MEANING: Readonly<Record<string, readonly [there: string, here: string, words: RegExp]>> = {
  c: [MOVING.copy.help, WORKBENCH_KEYS.copy.help, /^copy /],
  w: [VERBS.save.help, WORKBENCH_KEYS.export.help, /to a (local|\.csv|file)/],
};

test("the letters of a result keep their usual meaning", () => {
  const inResult = Object.values(WORKBENCH_KEYS).filter(({ modes }) => modes.some((mode) => mode === "result"));
  const letters = chordsOf(inResult).filter((chord) => characterOf(chord) !== undefined);
  assert.deepEqual([...letters].sort(), Object.keys(SAME_MEANING).sort());
  for (const [there, here, meaning] of Object.values(SAME_MEANING)) {
    assert.match(there, meaning);
    assert.match(here, meaning);
  }
});

test("the control keys of the workbench are not global keys, except Esc, which goes back in both", () => {
  const own = new Set(chordsOf(Object.values(WORKBENCH_KEYS)));
  assert.deepEqual(
    chordsOf(COMMON_KEYS).filter((chord) => own.has(chord)),
    ["esc"],
  );
});

test("within a mode of the workbench a chord has one meaning", () => {
  for (const mode of ["asking", "params", "editor", "result"] as const) {
    const there = Object.values(WORKBENCH_KEYS).filter(({ modes }) => modes.some((one) => one === mode));
    assert.deepEqual(repeated(chordsOf(there)), [], mode);
  }
});

test("names and numbers of views are unique and differ from commands", () => {
  assert.deepEqual(repeated(VIEWS.flatMap(({ id, aliases }) => [id, ...aliases])), []);
  assert.deepEqual(repeated(VIEWS.flatMap(({ digit }) => digit ?? [])), []);
  for (const { id, aliases, digit } of VIEWS) {
    for (const name of [id, ...aliases]) {
      assert.deepEqual(commandOfText(name, VIEWS), { kind: "go", place: { view: id }, filter: undefined });
    }
    assert.ok(digit === undefined || COMMON.view.chords.some((chord) => chord === digit), id);
  }
});

test("each sort letter of a table belongs to one column", () => {
  const state = start();
  for (const { id, body } of VIEWS) {
    if (body.kind !== "table") continue;
    const { data, isReadOnly, isAscii, tail, verification } = state;
    const { columns } = body.table({
      data,
      now: state.now,
      subject: undefined,
      isReadOnly,
      isAscii,
      endpointFlags: "",
      tail,
      verification,
    });
    assert.deepEqual(repeated(columns.map(({ letter }) => letter)), [], id);
    assert.ok(
      columns.some((column) => column.id === body.sort.column),
      `${id} sorts by ${body.sort.column}`,
    );
  }
});

const helpOf = (view: View): ReadonlySet<string> =>
  new Set(
    sectionsOf(start({ place: { view: view.id }, endpoints: 2 }), VIEWS).flatMap(({ entries }) =>
      entries.map(({ key: text }) => text),
    ),
  );

test("the help of a view lists its actions, the global keys and every view", () => {
  for (const view of VIEWS) {
    const result = helpOf(view);
    for (const { verb } of view.offers) assert.ok(result.has(chordText(VERBS[verb].chord)), `${view.id}: ${verb}`);
    for (const { chords } of COMMON_KEYS) assert.ok(result.has(chordsText(chords)), `${view.id}: ${chords}`);
    for (const { id } of VIEWS)
      assert.ok(
        [...result].some((text) => text.includes(`:${id}`)),
        `${view.id}: ${id}`,
      );
  }
});

test("movement keys and each key of the workbench are in the help of some view", () => {
  const reportedIds = new Set(VIEWS.flatMap((view) => [...helpOf(view)]));
  for (const { chords } of [...MOVING_KEYS, ...Object.values(CHARTS), ...Object.values(WORKBENCH_KEYS)]) {
    assert.ok(reportedIds.has(chordsText(chords)), chordsText(chords));
  }
});
