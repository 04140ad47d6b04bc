/** Saving the screen's rows to a file, and copying a row or a cell. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { MOVING } from "../../../src/console/model/key-bindings.ts";
import type { Effect, State, Step } from "../../../src/console/model/state.ts";
import type { SaveText } from "../../../src/console/model/view.ts";
import { after, key, lastStep, online, pressed, ROWS, step, typed } from "./fixture.ts";

const flashMessage = ({ flash }: State): string | undefined => flash?.message;
const [SAVE] = MOVING.save_table.chords;

/** Saves under the name. */
function saved(state: State, name: string): Step {
  const prompted = pressed(state, `${SAVE} ctrl-u`);
  return step(typed(prompted, name), key("enter"));
}

function jobOf({ effects }: Pick<Step, "effects">): SaveText {
  const [effect] = effects;
  assert.ok(effect?.kind === "job" && effect.job.kind === "save_text");
  return effect.job;
}

const copiedBy = (state: State, chords: string): string => {
  const [effect] = lastStep(state, chords).effects;
  assert.ok(effect?.kind === "copy");
  return effect.text;
};

test("rows are saved in screen order, as CSV of the columns or as JSON of the admin API", () => {
  const state = pressed(online(), "S N");
  const csv = jobOf(saved(state, "a.csv"));
  assert.equal(csv.what, "4 rows");
  assert.equal(
    csv.text,
    "name,req/s,state\r\nacme-alt,9.1,ok\r\nacme-chat,12.4,failing\r\ngamma,null,idle\r\npool-eu,2.2,ok\r\n",
  );
  const json = jobOf(saved(state, "A.JSON"));
  assert.deepEqual(
    (JSON.parse(json.text) as typeof ROWS).map(({ name }) => name),
    ["acme-alt", "acme-chat", "gamma", "pool-eu"],
  );
  assert.deepEqual((JSON.parse(json.text) as typeof ROWS)[1], ROWS[0]);
});

test("a filter and marks narrow the saved rows", () => {
  const filtered = pressed(typed(pressed(online(), "/"), "acme"), "enter");
  assert.equal(jobOf(saved(filtered, "a.csv")).what, "2 rows");
  assert.equal(jobOf(saved(pressed(online(), "space"), "a.csv")).what, "1 row");
  assert.equal(
    flashMessage(pressed(typed(pressed(online(), "/"), "none"), `enter ${SAVE}`)),
    "there are no rows to save",
  );
});

test("the view proposes the file name, and a name without a known format is asked for again", () => {
  const prompted = pressed(online(), SAVE);
  assert.equal(prompted.prompt?.edit.text, "providers.csv");
  assert.match(prompted.prompt?.label ?? "", /^save 4 rows to/);
  const again = saved(online(), "rows.txt");
  assert.deepEqual(again.effects, []);
  assert.match(again.state.prompt?.label ?? "", /must end in \.csv or \.json/);
  assert.equal(again.state.prompt?.edit.text, "rows.txt");
});

test("keys of this gateway and of providers are masked in the file and on the clipboard", () => {
  const secret = "gwk_a1b2c3d4_0123456789abcdef";
  const state = online([{ name: `leak ${secret}`, state: "Bearer abc.def", rate: 1 }]);
  for (const name of ["a.csv", "a.json"]) {
    const { text } = jobOf(saved(state, name));
    assert.doesNotMatch(text, /gwk_a1b2|abc\.def/, name);
    assert.match(text, /leak \*{20}/, name);
  }
  assert.doesNotMatch(copiedBy(state, "C"), /gwk_a1b2/);
});

test("texts with special characters are escaped so that they are read back", () => {
  const hard = ['a"b', "a,b", "a\nb", "\u001b[2J", "漢字", "=1+1"];
  const state = online(hard.map((name, at) => ({ name, state: "ok", rate: hard.length - at })));
  const rows = JSON.parse(jobOf(saved(state, "a.json")).text) as typeof ROWS;
  assert.deepEqual(
    rows.map(({ name }) => name),
    hard,
  );
  const csv = jobOf(saved(state, "a.csv")).text;
  assert.equal(csv.split("\r\n").length, hard.length + 2);
  assert.ok(csv.includes('"a""b",6,ok') && csv.includes('"a,b",5,ok') && csv.includes("漢字,2,ok"));
  assert.doesNotMatch(csv, /\u001b/);
});

test("an existing file is replaced only after y, and kept on Esc", () => {
  const job: SaveText = { kind: "save_text", file: "a.csv", text: "x", what: "4 rows" };
  const prompted = after(online(), [{ kind: "file_exists", job, path: "/data/a.csv" }]);
  assert.equal(prompted.dialog?.dialog.title, "Replace a local file");
  assert.deepEqual(lastStep(prompted, "esc").effects, []);
  assert.deepEqual(lastStep(prompted, "enter").effects, []);
  const [effect] = lastStep(prompted, "y").effects as readonly (Effect & { readonly kind: "task" })[];
  assert.deepEqual(effect?.task, { kind: "job", job: { ...job, replaces: true } });
  const busy = after(pressed(online(), "s"), [{ kind: "file_exists", job, path: "/data/a.csv" }]);
  assert.match(flashMessage(busy) ?? "", /\/data\/a\.csv exists; nothing was saved/);
  assert.notEqual(busy.dialog?.dialog.title, "Replace a local file");
});

test("a file is saved without a gateway", () => {
  const failure = { status: 0, code: "unreachable", message: "no", at: 0 };
  const begun = online();
  const offline = after(begun, [
    { kind: "link", link: { ...begun.link, state: { kind: "offline", since: 0, retryAt: 1, failure } } },
  ]);
  assert.equal(jobOf(saved(offline, "a.csv")).what, "4 rows");
  const job: SaveText = { kind: "save_text", file: "a.csv", text: "x", what: "4 rows" };
  const prompted = after(offline, [{ kind: "file_exists", job, path: "/data/a.csv" }]);
  assert.equal(lastStep(prompted, "y").effects.length, 1);
});

test("a page is saved as its displayed text", () => {
  const state = pressed(online(), "h");
  assert.deepEqual(jobOf(saved(state, "a.txt")), {
    kind: "save_text",
    file: "a.txt",
    text: "one\ntwo\n",
    what: "2 lines",
  });
});

test("C copies the row or the marked rows, Y and a letter one cell of each", () => {
  assert.equal(copiedBy(online(), "C"), "acme-chat\t12.4\tfailing");
  assert.equal(copiedBy(online(), "space space C"), "acme-chat\t12.4\tfailing\nacme-alt\t9.1\tok");
  assert.equal(copiedBy(online(), "Y s"), "failing");
  assert.equal(copiedBy(online(), "space space Y R"), "12.4\n9.1");
  assert.deepEqual(lastStep(online(), "Y esc").effects, []);
  assert.match(flashMessage(pressed(online(), "Y q")) ?? "", /no column has the letter q/);
  assert.equal(pressed(online(), "Y q").awaitsColumnFor, undefined);
  assert.equal(flashMessage(pressed(online([]), "C")), "there is no row to copy");
});
