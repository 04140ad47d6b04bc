/** Effects of keys and events on the console, as scripts of chords. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Event, State } from "../../../src/console/model/state.ts";
import { textOfLine } from "../../../src/console/model/text.ts";
import { sectionsOf } from "../../../src/console/store/help-entries.ts";
import { cursorRowOf, listingOf, tableStateOf } from "../../../src/console/store/selectors.ts";
import { after, dataOf, key, lastStep, NOW, online, pressed, ROWS, start, step, typed, VIEWS } from "./fixture.ts";

const cursor = (state: State): string | undefined => cursorRowOf(listingOf(state, VIEWS));
const flashMessage = (state: State): string => state.flash?.message ?? "";
const paste = (text: string): Event => ({ kind: "paste", text });
const sorted = (state: State): string => {
  const sort = listingOf(state, VIEWS)?.sort;
  return `${sort?.column} ${sort?.isDescending ? "down" : "up"}`;
};
const command = (state: State, text: string): State => pressed(typed(pressed(state, ":"), text), "enter");

test("the cursor moves by rows, pages and to the ends, and stays on the screen", () => {
  const rows = Array.from({ length: 100 }, (_, at) => ({
    name: `k${String(at).padStart(3, "0")}`,
    state: "ok",
    rate: null,
  }));
  const begun = online(rows);
  assert.equal(cursor(begun), "k000");
  assert.equal(cursor(pressed(begun, "j j k down")), "k002");
  assert.equal(cursor(pressed(begun, "pagedown")), "k018");
  assert.equal(tableStateOf(pressed(begun, "pagedown")).offset, 1);
  const last = pressed(begun, "G");
  assert.equal(cursor(last), "k099");
  assert.equal(tableStateOf(last).offset, 82);
  assert.equal(cursor(pressed(last, "g")), "k000");
  assert.equal(cursor(pressed(begun, "up")), "k000");
  assert.equal(tableStateOf(after(last, [{ kind: "size", columns: 80, rows: 24 }])).offset, 84);
});

test("the cursor follows its row, and keeps its position when the row goes", () => {
  const at = pressed(online(), "down");
  assert.equal(cursor(at), "acme-alt");
  const moved = after(at, [
    dataOf({ list_backends: ROWS.map((row) => (row.name === "acme-alt" ? { ...row, rate: 99 } : row)) }),
  ]);
  assert.equal(cursor(moved), "acme-alt");
  assert.equal(listingOf(moved, VIEWS)?.cursor, 0);
  const gone = after(at, [dataOf({ list_backends: ROWS.filter(({ name }) => name !== "acme-alt") })]);
  assert.equal(cursor(gone), "pool-eu");
  assert.equal(cursor(after(gone, [dataOf({ list_backends: [] })])), undefined);
});

test("a filter applies while it is typed; Enter keeps it and Esc restores the previous one", () => {
  const typing = typed(pressed(online(), "/"), "alt");
  assert.equal(cursor(typing), "acme-alt");
  assert.equal(tableStateOf(pressed(typing, "enter")).filter, "alt");
  const again = typed(pressed(typing, "enter /"), "x");
  assert.equal(tableStateOf(again).filter, "altx");
  assert.equal(tableStateOf(pressed(again, "esc")).filter, "alt");
});

test("Esc goes back exactly one step, and at the root says how to quit", () => {
  let state = pressed(online(), "1 2 space b /");
  state = pressed(typed(state, "acme"), "enter h ? : esc");
  assert.equal(state.prompt, undefined);
  assert.equal(state.page?.title, "History");
  state = pressed(state, "esc");
  assert.equal(state.page, undefined);
  state = pressed(state, "esc");
  assert.deepEqual([tableStateOf(state).filter, tableStateOf(state).marks.size], ["", 1]);
  state = pressed(state, "esc");
  assert.deepEqual([tableStateOf(state).marks.size, tableStateOf(state).isNarrowed], [0, true]);
  state = pressed(state, "esc");
  assert.equal(tableStateOf(state).isNarrowed, false);
  assert.equal(pressed(state, "esc").place.view, "overview");
  assert.equal(pressed(state, "esc esc").place.view, "providers");
  const root = lastStep(state, "esc esc esc");
  assert.deepEqual([flashMessage(root.state), root.effects], ["q quits", []]);
});

test("digits, - and Tab switch views; an unassigned digit says so", () => {
  const there = pressed(online(), "1");
  assert.deepEqual([there.place, there.past], [{ view: "overview" }, [{ view: "providers" }]]);
  assert.deepEqual(pressed(there, "-").place, { view: "providers" });
  assert.deepEqual(pressed(there, "- -").place, { view: "overview" });
  assert.deepEqual(pressed(there, "tab").place, { view: "errors" });
  assert.equal(pressed(there, "tab").past.length, 1);
  assert.deepEqual(pressed(there, "tab tab").place, { view: "overview" });
  assert.equal(flashMessage(pressed(online(), "5")), "no view has the number 5");
  assert.equal(flashMessage(pressed(online(), "tab")), "this view has no tabs");
  assert.equal(flashMessage(pressed(online(), "-")), "there is no view before this one");
});

test("a command goes to a view with a subject and a filter", () => {
  const state = command(online(), "errors acme-chat /5xx");
  assert.deepEqual(state.place, { view: "errors", subject: "acme-chat" });
  assert.equal(tableStateOf(state).filter, "5xx");
  assert.equal(flashMessage(command(online(), "providres")), "there is no view providres; did you mean providers?");
  assert.equal(command(online(), "help").prompt?.kind, "help");
  assert.deepEqual(lastStep(typed(pressed(online(), ":"), "q"), "enter").effects, [{ kind: "quit" }]);
});

test("S and a letter sort by a column, again reverses, and shifted arrows move by columns", () => {
  assert.equal(sorted(pressed(online(), "S N")), "name up");
  assert.equal(sorted(pressed(online(), "S n S N")), "name down");
  assert.equal(sorted(pressed(online(), "S s")), "state up");
  assert.equal(sorted(pressed(online(), "S R")), "rate up");
  assert.equal(sorted(pressed(online(), "shift-right")), "state up");
  assert.equal(sorted(pressed(online(), "shift-left shift-left")), "state up");
  assert.match(flashMessage(pressed(online(), "S x")), /no column has the letter x: N NAME, R REQ\/s, s STATE/);
  assert.equal(pressed(online(), "S esc").awaitsColumnFor, undefined);
});

test("columns scroll once all of them have been shown", () => {
  assert.equal(tableStateOf(pressed(online(), "t right right right right left")).scrolled, 1);
  assert.match(flashMessage(pressed(online(), "right")), /^t shows all columns/);
});

test("d shows the fields of a row, J its JSON, Enter opens it; terminal escapes are shown as text", () => {
  const evil = online([{ name: "a\u001b[2J", state: "x\ny", rate: 1 }]);
  const lines = pressed(evil, "d").page?.lines?.map(textOfLine) ?? [];
  assert.deepEqual(lines, ["name   a\\u001b[2J", "state  x\\ny", "rate   1"]);
  assert.match(pressed(evil, "J").page?.lines?.map(textOfLine).join("") ?? "", /"name": "a\\u001b\[2J"/);
  assert.deepEqual(pressed(online(), "enter").place, { view: "errors", subject: "acme-chat" });
});

test("c copies the name, or the marked ones in order", () => {
  assert.deepEqual(lastStep(online(), "c").effects, [{ kind: "copy", text: "acme-chat" }]);
  assert.deepEqual(lastStep(online(), "down space up up space c").effects, [
    { kind: "copy", text: "acme-chat\nacme-alt" },
  ]);
  assert.equal(flashMessage(pressed(online(), "c")), "copied acme-chat");
});

test("a verb that is not offered, impossible or forbidden says why and does nothing", () => {
  assert.equal(flashMessage(pressed(online(), "P")), "P (prune) is not available here");
  assert.equal(flashMessage(pressed(online(), "1 X")), "X (remove) is not available here; use it in: providers");
  assert.equal(flashMessage(pressed(online(), "u")), "u: acme-chat is not suspended");
  assert.equal(flashMessage(pressed(online(ROWS, { isReadOnly: true }), "s")), "read-only: s is not available");
  assert.equal(pressed(online(ROWS, { isReadOnly: true }), "s").dialog, undefined);
  assert.equal(flashMessage(pressed(online(), "space space X")), "X: X works on one row, but 2 are marked");
  assert.equal(flashMessage(pressed(online(), "z s")), "s: the screen is frozen; press z to resume");
});

test("intents open pages, load, ask, open the workbench and announce", () => {
  assert.deepEqual(lastStep(online(), "v").effects, [
    { kind: "load", id: 1, request: { kind: "document", source: "default" } },
  ]);
  const loading = pressed(online(), "v");
  assert.equal(loading.page?.lines, undefined);
  assert.deepEqual(lastStep(loading, "esc").effects, [{ kind: "cancel", id: 1 }]);
  assert.equal(after(loading, [{ kind: "page_loaded", id: 1, lines: [[]] }]).page?.lines?.length, 1);
  assert.equal(after(loading, [{ kind: "page_loaded", id: 7, lines: [[]] }]).page?.lines, undefined);
  const prompted = lastStep(online(), "w enter");
  assert.deepEqual(prompted.effects, [
    { kind: "job", id: 1, job: { kind: "save_text", file: "a.json", text: "x", what: "a text" } },
  ]);
  assert.equal(flashMessage(prompted.state), "saving a text to a.json");
  assert.equal(flashMessage(pressed(online(), "w esc")), "canceled");
  const query = pressed(online(), "o");
  assert.deepEqual([query.place.view, query.workbench.edit.text], ["query", "SELECT * FROM backends"]);
  assert.equal(query.workbench.isEditing, false);
  assert.deepEqual(
    lastStep(online(), "o").effects.map(({ kind }) => kind),
    ["remember", "query"],
  );
});

test("a replaced statement goes into the history", () => {
  const state = typed(pressed(online(), "9"), "select 2");
  assert.deepEqual(pressed(pressed(state, "esc 2"), "o").workbench.history, ["select 2", "SELECT * FROM backends"]);
});

test("a paste is text in a text field, and is dropped elsewhere", () => {
  const dropped = step(online(), paste("s"));
  assert.deepEqual([dropped.state.dialog, dropped.effects], [undefined, []]);
  assert.equal(flashMessage(dropped.state), "the pasted text was ignored: no text field is selected");
  const filter = after(pressed(online(), "/"), [paste("alt\nq")]);
  assert.equal(filter.prompt?.edit.text, "alt q");
  assert.equal(after(pressed(online(), "9"), [paste("select\n1")]).workbench.edit.text, "select\n1");
  assert.equal(after(pressed(online(), "9 esc"), [paste("select 1")]).workbench.edit.text, "");
  assert.match(flashMessage(after(pressed(online(), "S"), [paste("N")])), /was ignored/);
});

test("the query view reopens with its statement, and typing edits it", () => {
  const left = pressed(typed(pressed(online(), "9"), "select 1"), "esc 2");
  for (const chords of ["9", "-"]) {
    const again = typed(pressed(left, chords), "q sure");
    assert.deepEqual([again.place.view, again.workbench.edit.text], ["query", "select 1q sure"], chords);
  }
});

test("q asks while a statement is unsaved, and Ctrl-C leaves from anywhere", () => {
  assert.deepEqual(lastStep(online(), "q").effects, [{ kind: "quit" }]);
  const unsaved = pressed(typed(pressed(online(), "9"), "select 1"), "esc");
  assert.match(pressed(unsaved, "q").prompt?.label ?? "", /not saved; leave\?/);
  for (const chords of ["q", "q q", "q q enter", "q enter", "q n o enter"]) {
    assert.deepEqual(lastStep(unsaved, chords).effects, [], chords);
  }
  assert.equal(pressed(unsaved, "q n o enter").workbench.edit.text, "select 1");
  for (const chords of ["q y enter", "q y e s enter"]) {
    assert.deepEqual(lastStep(unsaved, chords).effects, [{ kind: "quit" }], chords);
  }
  for (const chords of ["ctrl-c", "s ctrl-c", ": ctrl-c", "/ ctrl-c", "? ctrl-c", "9 x ctrl-c", "S ctrl-c"]) {
    assert.deepEqual(lastStep(online(), chords).effects, [{ kind: "quit" }], chords);
  }
});

test("r reads and redraws, Ctrl-Z suspends the process, O switches to the next address if there is one", () => {
  assert.deepEqual(lastStep(online(), "r").effects, [{ kind: "refresh" }, { kind: "redraw" }]);
  assert.deepEqual(lastStep(online(), "s ctrl-z").effects, [{ kind: "stop_process" }]);
  assert.equal(flashMessage(pressed(online(), "O")), "only one gateway is configured");
  assert.deepEqual(lastStep(online(ROWS, { endpoints: 2 }), "O").effects, [{ kind: "next_endpoint" }]);
});

test("a message disappears after six seconds; warnings and failures stay in the log", () => {
  const state = after(online(), [{ kind: "flash", flash: { message: "broken", tone: "fail" } }]);
  assert.equal(flashMessage(after(state, [{ kind: "tick", now: NOW + 5_999 }])), "broken");
  assert.equal(flashMessage(after(state, [{ kind: "tick", now: NOW + 6_000 }])), "");
  assert.match(command(state, "log").page?.lines?.map(textOfLine).join("\n") ?? "", /14:02:07Z {2}broken/);
});

test("the message for a key disappears with the next key, and a failure stays", () => {
  const prompted = pressed(online(), "x");
  assert.notEqual(flashMessage(prompted), "");
  assert.equal(
    flashMessage(after(prompted, [{ kind: "tick", now: NOW + 1_000 }, dataOf({ list_backends: ROWS })])),
    flashMessage(prompted),
  );
  for (const chord of ["j", "s", "?", ":", "/", "2", "d"])
    assert.equal(flashMessage(pressed(prompted, chord)), "", chord);
  const failed = after(online(), [{ kind: "flash", flash: { message: "refused", tone: "fail" } }]);
  assert.equal(flashMessage(pressed(failed, "?")), "refused");
});

test("a lost connection and a new leader are announced", () => {
  const state = online();
  const failure = { status: 0, code: "unreachable", message: "no connection", at: NOW };
  const link = { ...state.link, state: { kind: "offline", since: NOW, retryAt: NOW, failure } as const };
  assert.equal(flashMessage(after(state, [{ kind: "link", link }])), "offline: no connection");
  const stepBack = { ...link, state: { kind: "online" } as const };
  assert.equal(
    flashMessage(
      after(state, [
        { kind: "link", link },
        { kind: "link", link: stepBack },
      ]),
    ),
    "",
    "it ends with its cause",
  );
  const done: Event = { kind: "task_done", id: 1, message: "suspended" };
  const between = after(state, [done, { kind: "link", link }]);
  assert.equal(flashMessage(between), "suspended; offline: no connection");
  assert.equal(flashMessage(after(between, [{ kind: "link", link: stepBack }])), "suspended");
  const led = (leader: string | null) => dataOf({ get_status: { leader } });
  assert.equal(flashMessage(after(state, [led("n1"), led("n2")])), "n2 is the leader now");
  assert.equal(flashMessage(after(state, [led("n1"), led(null)])), "n1 is no longer the leader");
});

test("news wait behind the result of an action until its time is over, and do not extend it", () => {
  const led = (leader: string, now = NOW): Event => dataOf({ get_status: { leader } }, now);
  const done = after(online(), [led("n1"), { kind: "task_done", id: 1, message: "suspended for 30m" }]);
  const later = after(done, [led("n2", NOW + 2_000)]);
  assert.equal(flashMessage(later), "suspended for 30m; n2 is the leader now");
  assert.equal(flashMessage(after(later, [led("n3", NOW + 4_000)])), "suspended for 30m; n3 is the leader now");
  assert.equal(flashMessage(after(later, [led("n3", NOW + 6_000)])), "n3 is the leader now");
  const seen = (count: string): Event => ({
    kind: "task_visible",
    task: "suspended for 30m",
    message: `suspended for 30m (${count})`,
  });
  const counted = after(done, [seen("1/3"), seen("2/3"), led("n2")]);
  assert.equal(flashMessage(counted), "suspended for 30m (2/3); n2 is the leader now", "the count outlives the news");
  const failed = after(online(), [{ kind: "task_failed", id: 1, message: "no leader" }]);
  assert.equal(
    flashMessage(after(failed, [{ kind: "flash", flash: { message: "seen on 3/3", tone: "plain" } }])),
    "no leader; seen on 3/3",
  );
  assert.equal(flashMessage(pressed(failed, "O")), "only one gateway is configured", "a key has its own answer");
});

test("going back restores filter and cursor; opening a view again shows all rows from the first", () => {
  const left = pressed(typed(pressed(online(), "down /"), "acme"), "enter 1");
  for (const [keys, row, filter] of [
    ["-", "acme-alt", "acme"],
    ["2", "acme-chat", ""],
    ["- 2", "acme-chat", "acme"],
  ] as const) {
    const state = pressed(left, keys);
    assert.deepEqual([cursor(state), tableStateOf(state).filter], [row, filter], keys);
  }
});

test("rows marked on an earlier visit are not acted on", () => {
  assert.equal(tableStateOf(pressed(online(), "space 1 2")).marks.size, 0);
  assert.equal(tableStateOf(pressed(online(), "space 1 -")).marks.size, 1);
});

test("an unmoved cursor stays on the first row, whichever it is", () => {
  const worst = ROWS.map((row) => (row.name === "pool-eu" ? { ...row, rate: 99 } : row));
  assert.equal(cursor(after(online(), [dataOf({ list_backends: worst })])), "pool-eu");
});

test("a page view scrolls within its lines", () => {
  const page = start({ place: { view: "overview" } });
  assert.equal(tableStateOf(pressed(page, "down down up")).offset, 1);
  assert.equal(tableStateOf(pressed(page, "G")).offset, 60 - 28);
  assert.equal(tableStateOf(pressed(page, "pagedown pagedown pagedown")).offset, 60 - 28);
  assert.equal(tableStateOf(pressed(page, "G g")).offset, 0);
});

test("the audit stream and a verification are kept, with their newest lines", () => {
  const lines = Array.from({ length: 1_200 }, (_, at) => String(at));
  assert.equal(after(online(), [{ kind: "tail", lines }]).tail?.length, 1_000);
  const verification = { file: "a.jsonl", state: { kind: "done", report: { isGood: false, lines: [] } } } as const;
  assert.equal(flashMessage(after(online(), [{ kind: "verification", verification }])), "a.jsonl: verification failed");
});

test("keys of the view below a page say how to leave it first", () => {
  assert.equal(flashMessage(pressed(online(), "h s")), "Esc leaves the page first");
  assert.equal(flashMessage(after(online(), [key("y")])), "y does nothing here; ? lists the keys");
});

test("verbs act on the row of the open page, whatever is marked, and its description follows the data", () => {
  const page = pressed(online(), "space d");
  const row = page.page?.row;
  assert.ok(row !== undefined && page.page?.isDescription);
  const prompted = pressed(page, "s");
  assert.equal(prompted.dialog?.dialog.title.includes(row), true);
  assert.equal(pressed(prompted, "esc").page?.row, row, "the page is still there");
  const changed = ROWS.map((one) => (one.name === row ? { ...one, rate: 987 } : one));
  const later = after(page, [dataOf({ list_backends: changed })]);
  assert.ok(later.page?.lines?.some((line) => textOfLine(line).includes("987")));
  const gone = after(page, [dataOf({ list_backends: ROWS.filter(({ name }) => name !== row) })]);
  assert.equal(flashMessage(pressed(gone, "s")), "s: no row");
});

test("the help of the workbench says in which part a key works", () => {
  const help = sectionsOf(online(ROWS, { place: { view: "query" } }), VIEWS);
  const heads = help.map(({ head }) => head).filter((head) => head.startsWith("Keys "));
  assert.ok(heads.includes("Keys in the statement"), heads.join());
  assert.ok(heads.includes("Keys in the result"));
  assert.ok(heads.includes("Keys anywhere in the workbench"));
  const inResult = help.find(({ head }) => head === "Keys in the result");
  assert.deepEqual(
    inResult?.entries.map(({ key: text }) => text),
    ["Enter", "c"],
  );
});
