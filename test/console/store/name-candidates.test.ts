/** Candidates of `:` while typing, and the effect of arrows, Tab and Enter. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { drawScreen } from "../../../src/console/draw/draw-screen.ts";
import { renderTree } from "../../../src/console/draw/screen-reader.ts";
import type { Event, State } from "../../../src/console/model/state.ts";
import { textOfLine } from "../../../src/console/model/text.ts";
import type { View } from "../../../src/console/model/view.ts";
import { candidatesOf } from "../../../src/console/store/name-candidates.ts";
import { createStep } from "../../../src/console/store/reducer.ts";
import { needsOf, tableStateOf } from "../../../src/console/store/selectors.ts";
import { VIEWS as ALL_VIEWS } from "../../../src/console/views/all.ts";
import { drawWorkbench } from "../../../src/console/workbench/draw-workbench.ts";
import { key as keyRow } from "../views/keys-fixture.ts";
import { dataOf, lastStep, NOW, online, pressed, ROWS, stepWorkbench, typed, VIEWS } from "./fixture.ts";

const offered = (state: State, text: string): readonly string[] =>
  candidatesOf(state, VIEWS, text).map((candidate) => candidate.text);
const prompted = (state: State, text = ""): State => typed(pressed(state, ":"), text);
const screenOf = (state: State, views = VIEWS): string =>
  drawScreen(state, views, drawWorkbench)
    .map((line) => textOfLine(line).trimEnd())
    .join("\n");

const MATCHES: readonly (readonly [text: string, offered: readonly string[]])[] = [
  ["", ["overview", "providers", "errors", "query", "help", "context", "log", "quit"]],
  ["prov", ["providers"]],
  ["back", ["providers"]],
  ["PROV", ["providers"]],
  ["pvd", ["providers"]],
  ["rovi", ["providers"]],
  ["e", ["errors", "overview", "providers", "query"]],
  ["q", ["quit", "query"]],
  ["qu", ["query", "quit"]],
  ["it", []],
  ["lo", ["log"]],
  ["zz", []],
  ["providers ", []],
  ["errors /5xx", []],
];

for (const [text, expected] of MATCHES) {
  test(`:${text} offers ${expected.join(", ") || "nothing"}`, () => {
    assert.deepEqual(offered(online(), text), expected);
  });
}

test("the last visited view is offered first with its subject, and the current one last", () => {
  const been = pressed(typed(prompted(online()), "errors acme-chat"), "enter");
  const there = pressed(been, "9 esc 1");
  assert.deepEqual(offered(there, "").slice(0, 4), ["query", "errors acme-chat", "providers", "overview"]);
  assert.deepEqual(offered(there, "err"), ["errors", "errors acme-chat"]);
  assert.deepEqual(offered(there, "acme"), ["errors acme-chat"]);
  assert.deepEqual(offered(there, "errors ac"), ["errors acme-chat"]);
  const back = pressed(prompted(there, "acme"), "enter");
  assert.deepEqual(back.place, { view: "errors", subject: "acme-chat" });
});

test("Enter takes the highlighted candidate: the best while typing, another one by arrows, or the text after a blank", () => {
  assert.equal(pressed(prompted(online(), "e"), "enter").place.view, "errors");
  assert.equal(pressed(prompted(online(), "e"), "down enter").place.view, "overview");
  assert.equal(pressed(prompted(online(), "e"), "down down up enter").place.view, "overview");
  assert.equal(pressed(prompted(online()), "enter").place.view, "providers", "nothing was typed or chosen");
  assert.equal(pressed(prompted(online()), "down enter").place.view, "overview");
  assert.equal(pressed(prompted(online()), "up up enter").place.view, "providers");
  assert.deepEqual(pressed(prompted(online(), "err x"), "enter").place, { view: "errors", subject: "x" });
  const typedOn = typed(pressed(prompted(online(), "e"), "down down"), "rr");
  assert.equal(pressed(typedOn, "enter").place.view, "errors", "a letter takes the choice back");
});

test("Tab inserts the highlighted candidate, with a blank if more may follow", () => {
  const line = (state: State): string | undefined => pressed(state, "tab").prompt?.edit.text;
  assert.equal(line(prompted(online(), "pro")), "providers");
  assert.equal(line(prompted(online(), "err")), "errors ");
  assert.equal(line(prompted(online())), "overview");
  assert.equal(line(prompted(online(), "zz")), "zz");
  assert.equal(line(pressed(prompted(online(), "e"), "down")), "overview");
});

test("the candidates are above the line with the selected one marked, and disappear with it", () => {
  for (const [columns, rows] of [
    [120, 35],
    [60, 16],
  ] as const) {
    const at = { ...online(), size: { columns, rows } };
    const screen = screenOf(prompted(at, "e"));
    assert.match(screen, /│>errors +what failed/);
    assert.match(screen, /│ overview +all at a glance/);
    assert.equal(screen.split("\n").length, rows - 1);
    assert.doesNotMatch(screenOf(pressed(prompted(at, "e"), "esc")), /all at a glance/);
  }
  assert.match(screenOf(prompted(online(), "zzz")), /there is no view zzz/);
  assert.match(screenOf(prompted(online(), "err ")), /errors: provider/);
  assert.match(screenOf(prompted(online(), "prov /acme")), /providers: .*, filtered by acme/);
});

test("while a view name is typed, the list of its subjects is read", () => {
  const needed = (text: string): boolean =>
    needsOf(prompted(online(), text), ALL_VIEWS).some(({ id }) => id === "list_keys");
  assert.deepEqual(["xray", "xray ", "xray prod", "keys x", "nothing "].map(needed), [false, true, true, false, false]);
});

test("a screen reader gets the candidates and the selected one", () => {
  const readerTree = renderTree(prompted(online(), "e"), VIEWS, drawWorkbench);
  const list = readerTree.find(({ text }) => text === "go to");
  assert.deepEqual(list?.children?.map(({ text, state }) => [text, state?.selected]).slice(0, 2), [
    ["errors: what failed", true],
    ["overview: all at a glance", false],
  ]);
});

test(":q asks before an unsaved statement is lost, like q", () => {
  const unsaved = pressed(typed(pressed(online(), "9"), "select 1"), "esc");
  const asked = lastStep(typed(pressed(unsaved, ":"), "q"), "enter");
  assert.deepEqual(asked.effects, []);
  assert.match(asked.state.prompt?.label ?? "", /not saved; leave\?/);
  assert.deepEqual(lastStep(asked.state, "y enter").effects, [{ kind: "quit" }]);
});

test("each view is found by the first four letters of its name, as in the bar of views", () => {
  for (const { id, digit } of ALL_VIEWS) {
    if (digit === undefined) continue;
    assert.equal(candidatesOf(online(), ALL_VIEWS, id.slice(0, 4))[0]?.text, id);
  }
});

/** The view of providers, whose rows `:` finds. */
const NAMED = VIEWS.map((view) => (view.id === "providers" ? { ...view, rows: "provider" } : view));
const stepNamed = createStep({ views: NAMED, stepWorkbench });
const typedNamed = (text: string, chords = "enter", from: State = online()): State =>
  [":", ...[...text].map((one) => (one === " " ? "space" : one)), ...chords.split(" ")].reduce(
    (state, chord) => stepNamed(state, { kind: "key", chord }).state,
    from,
  );

test("rows are found by name, exact matches first, and a name goes to its row", () => {
  const found = (text: string) => candidatesOf(online(), NAMED, text).map(({ text: of, about }) => `${of} ${about}`);
  assert.deepEqual(found("acme-chat"), ["acme-chat provider"]);
  assert.deepEqual(found("provider:acme-chat"), ["acme-chat provider"]);
  assert.deepEqual(found("zz"), []);
  const there = typedNamed("acme-chat");
  assert.deepEqual([there.place.view, tableStateOf(there).cursorId], ["providers", "acme-chat"]);
});

const VERBS: readonly (readonly [text: string, title: string | undefined, words: RegExp])[] = [
  ["suspend acme-chat", "Suspend acme-chat", /^$/],
  ["suspend provider:acme-chat", "Suspend acme-chat", /^$/],
  ["suspend ACME-CHAT", "Suspend acme-chat", /^$/],
  ["suspend no-such", undefined, /^suspend: no provider is named no-such$/],
  ["suspend acme", undefined, /^suspend: acme may be several; Up and Down choose$/],
  ["suspend", undefined, /^suspend: type a name after it$/],
  ["suspend ", undefined, /^suspend: type a name after it$/],
  ["lift acme-chat", undefined, /^u: acme-chat is not suspended$/],
  ["mint", "Mint a key", /^$/],
];

for (const [text, title, best] of VERBS) {
  test(`:${text} ${title === undefined ? "says why it does nothing" : "opens the dialog"}, and changes nothing by itself`, () => {
    const there = typedNamed(text);
    assert.equal(there.dialog?.dialog.title, title);
    assert.match(there.flash?.message ?? "", best, JSON.stringify([there.dialog?.dialog.title, there.place]));
    const readOnly = typedNamed(text, "enter", online(undefined, { isReadOnly: true }));
    assert.equal(readOnly.dialog, undefined);
  });
}

test("lists with possible names are read while typing, and Enter waits for them", () => {
  const keys: View = {
    ...(ALL_VIEWS.find(({ id }) => id === "keys") ?? assert.fail()),
  };
  const views = [...NAMED, keys];
  const KEY = keyRow({ name: "intern-trial" });
  const at = (text: string, from = online()): State => ({
    ...from,
    prompt: { kind: "command", label: ":", edit: { text, at: text.length }, before: "" },
  });
  const reads = (text: string): boolean => needsOf(at(text), views).some(({ id }) => id === "list_keys");
  const READS = { "": false, in: false, "intern-trial": true, prov: false, suspend: false, "suspend intern": true };
  const OWN_NAMES = { log: false, help: false, quit: false, ctx: false, "x y": false };
  for (const [text, isRead] of Object.entries({ ...READS, ...OWN_NAMES })) assert.equal(reads(text), isRead, text);

  const step = createStep({ views, stepWorkbench });
  const through = (state: State, ...events: readonly Event[]): State =>
    events.reduce((now, event) => step(now, event).state, state);
  const enter = { kind: "key", chord: "enter" } as const;
  const read = dataOf({ list_backends: ROWS, list_keys: [KEY] });
  const waiting = through(at(KEY.name), enter);
  assert.equal(waiting.prompt?.edit.text, KEY.name, "it waits");
  assert.match(screenOf(waiting, views), /go to {2}loading names, then runs; Esc cancels/);
  assert.equal(through(waiting, enter, { kind: "tick", now: NOW + 1_000 }).prompt?.edit.text, KEY.name);
  const there = through(waiting, read);
  assert.deepEqual([there.place.view, tableStateOf(there).cursorId], ["keys", KEY.name]);
  assert.equal(there.prompt, undefined);
  assert.equal(through(at("log"), enter).page?.title, "Log of this console", "which is no row's name");

  for (const chord of ["esc", "x", "left", "backspace", "tab", "up"] as const) {
    const stays = through(waiting, { kind: "key", chord }, read);
    assert.equal(stays.place.view, "providers", `${chord} takes Enter back`);
  }
  for (const [text, best] of [
    ["intern-trial", /^there is no view intern-trial; .*; could not read the names of key$/],
    ["suspend intern", /^suspend: no .* is named intern; could not read the names of key$/],
  ] as const) {
    const late = through(at(text), enter, { kind: "tick", now: NOW + 10_000 });
    assert.equal(late.prompt, undefined, "it waits for a limited time");
    assert.match(late.flash?.message ?? "", best);
  }
});
