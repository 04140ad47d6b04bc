import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { QueryResult } from "../../../src/admin-api/index.ts";
import { MAX_SQL_LENGTH } from "../../../src/admin-api/operations/query.ts";
import { COMMON } from "../../../src/console/model/key-bindings.ts";
import type { Effect } from "../../../src/console/model/state.ts";
import { openStatement } from "../../../src/console/workbench/run-statement.ts";
import { MAX_STATEMENT_LENGTH } from "../../../src/console/workbench/saved-statements.ts";
import { stepWorkbench } from "../../../src/console/workbench/step-workbench.ts";
import { EMPTY_WORKBENCH } from "../../../src/console/workbench/workbench.ts";
import { WORKBENCH_KEYS, workbenchHints } from "../../../src/console/workbench/workbench-keys.ts";
import { facts, NOW, on, press, pressAll, RESULT, typed, withResult, withText } from "./support.ts";

const queriesOf = (effects: readonly Effect[]) => effects.filter((effect) => effect.kind === "query");

describe("workbench editor", () => {
  it("consumes every character, so that none is a key of the console", () => {
    const letters = typed("q:/?19 szRX-");
    const { workbench, effects } = pressAll(EMPTY_WORKBENCH, letters);
    assert.equal(workbench.edit.text, "q:/?19 szRX-");
    assert.deepEqual(effects, []);
    for (const chord of letters) assert.ok(press(EMPTY_WORKBENCH, chord).isTaken, chord);
  });

  it("leaves the keys that quit, suspend and redraw to the console", () => {
    for (const chord of ["ctrl-c", "ctrl-z", "ctrl-l", "f5"])
      assert.equal(press(EMPTY_WORKBENCH, chord).isTaken, false);
  });

  it("inserts a line break at Enter, and runs a statement that ends with a semicolon", () => {
    const { workbench, effects } = pressAll(EMPTY_WORKBENCH, typed("select 1\n;"));
    assert.equal(workbench.edit.text, "select 1\n;");
    assert.deepEqual(effects, []);
    const step = press(workbench, "enter");
    assert.deepEqual(queriesOf(step.effects), [{ kind: "query", id: 7, sql: "select 1\n;", params: [] }]);
    assert.equal(step.usedIds, 1);
    assert.deepEqual(step.workbench.run, { kind: "running", id: 7, sql: "select 1\n;", since: NOW });
  });

  it("ignores a semicolon in a string or a comment", () => {
    for (const sql of ["select ';", "select ';'", "select 1 -- ;", "select 1 /* ;", ";"]) {
      assert.deepEqual(press(withText(sql), "enter").effects, [], sql);
    }
    assert.equal(queriesOf(press(withText("select 1; -- done"), "enter").effects).length, 1);
  });

  it("runs any statement at Ctrl-R and Alt-Enter, but never an empty one", () => {
    for (const chord of ["ctrl-r", "alt-enter"]) {
      assert.equal(queriesOf(press(withText("select 1"), chord).effects).length, 1);
      const step = press(withText(" \n"), chord);
      assert.deepEqual(step.effects, []);
      assert.equal(step.flash?.tone, "warn");
    }
  });

  it("accepts a statement as long as the gateway does, and still handles keys then", () => {
    assert.equal(MAX_STATEMENT_LENGTH, MAX_SQL_LENGTH);
    const full = withText("x".repeat(MAX_STATEMENT_LENGTH));
    const step = press(full, "q");
    assert.ok(step.isTaken);
    assert.equal(step.workbench.edit.text.length, MAX_STATEMENT_LENGTH);
    const pasted = on(full, { kind: "paste", text: "yy" });
    assert.equal(pasted.edit.text.length, MAX_STATEMENT_LENGTH);
  });

  it("treats a paste as text in every mode", () => {
    const pasted = stepWorkbench(EMPTY_WORKBENCH, { kind: "paste", text: "select 1;\nq" }, facts());
    assert.equal(pasted.workbench.edit.text, "select 1;\nq");
    assert.deepEqual(pasted.effects, []);
    const beside = stepWorkbench(withResult(), { kind: "paste", text: "c" }, facts());
    assert.deepEqual([beside.effects, beside.isTaken], [[], false]);
  });
});

describe("completion in the editor", () => {
  it("cycles forward with Tab and back with Shift-Tab", () => {
    const first = press(withText("select * from b"), "tab").workbench;
    assert.equal(first.edit.text, "select * from backends");
    assert.deepEqual(first.completion, { candidates: ["backends", "budgets"], at: 0, from: 14 });
    const second = press(first, "tab").workbench;
    assert.equal(second.edit.text, "select * from budgets");
    assert.equal(press(second, "tab").workbench.edit.text, "select * from backends");
    assert.equal(press(second, "shift-tab").workbench.edit.text, "select * from backends");
    assert.equal(press(withText("select * from b"), "shift-tab").workbench.edit.text, "select * from budgets");
  });

  it("ends with any other key; Esc keeps the word and the editor", () => {
    const open = press(withText("select * from b"), "tab").workbench;
    const left = press(open, "esc").workbench;
    assert.deepEqual([left.completion, left.isEditing, left.edit.text], [undefined, true, "select * from backends"]);
    assert.equal(press(open, "space").workbench.completion, undefined);
  });

  it("completes in front of following text, and shows no list for a single match", () => {
    const { workbench } = press(withText("select k.st from keys k", 11), "tab");
    assert.deepEqual(workbench.edit, { text: "select k.status from keys k", at: 15 });
    assert.equal(workbench.completion, undefined);
  });

  it("says when nothing matches", () => {
    assert.match(press(withText("select 'a"), "tab").flash?.message ?? "", /nothing to complete/);
  });
});

describe("the history", () => {
  const ran = pressAll(EMPTY_WORKBENCH, [
    ...typed("select 1;\n"),
    "ctrl-u",
    ...typed("select 2;\n"),
    "ctrl-u",
  ]).workbench;

  it("stores executed statements; Up recalls them, Down returns to the draft", () => {
    assert.deepEqual(ran.history, ["select 1;", "select 2;"]);
    const { workbench } = pressAll(ran, [...typed("dra"), "up"]);
    assert.equal(workbench.edit.text, "select 2;");
    const oldest = pressAll(workbench, ["up", "up", "up"]).workbench;
    assert.equal(oldest.edit.text, "select 1;");
    const back = pressAll(oldest, ["down", "down", "down"]).workbench;
    assert.deepEqual([back.edit.text, back.historyIndex], ["dra", undefined]);
  });

  it("stores a repeated statement once, as the newest", () => {
    const { workbench, effects } = pressAll(ran, [...typed("select 1;\n")]);
    assert.deepEqual(workbench.history, ["select 2;", "select 1;"]);
    assert.deepEqual(
      effects.filter(({ kind }) => kind === "remember"),
      [{ kind: "remember", what: { name: "history", statement: "select 1;" } }],
    );
  });

  it("moves the cursor within a statement of several lines first", () => {
    const { workbench } = pressAll(withText("a\nb"), ["up"]);
    assert.deepEqual(workbench.edit, { text: "a\nb", at: 1 });
  });

  it("moves on through statements of several lines", () => {
    const history = { ...EMPTY_WORKBENCH, history: ["select 1", "select\n2\n;"] };
    assert.equal(pressAll(history, ["up", "up"]).workbench.edit.text, "select 1");
  });

  it("puts stored statements before those run since", () => {
    const after = on(ran, { kind: "remembered", name: "history", text: '"old"\n"select 1;"\nnonsense\n7\n' });
    assert.deepEqual(after.history, ["old", "select 1;", "select 2;"]);
  });
});

describe("running statement", () => {
  const running = press(withText("select 1\nfrom x ="), "ctrl-r").workbench;

  it("shows its result from the first row", () => {
    const moved = { ...withResult(), result: { row: 2, offset: 1, column: 1, isJson: false } };
    const again = press(moved, "ctrl-r").workbench;
    assert.deepEqual(again.result, { row: 0, offset: 0, column: 0, isJson: false });
    const done = on(again, { kind: "query_done", id: 7, result: RESULT, tookMs: 11 });
    const asked = { nodesText: "of all 3 nodes", missing: undefined };
    assert.deepEqual(done.run, { kind: "done", result: RESULT, tookMs: 11, asked });
  });

  it("says which nodes it queried and which did not answer", () => {
    const cases = [
      [{}, 3, "of all 3 nodes", undefined],
      [{ unanswered: ["n3"], cut: [] }, 3, "of 2 of 3 nodes", "n3 HAS NOT ANSWERED"],
      [{ unanswered: [], cut: ["n2"] }, 3, "of all 3 nodes", "MORE ON n2"],
      [{}, 1, "of n1", undefined],
    ] as const;
    for (const [more, members, nodesText, missing] of cases) {
      const step = stepWorkbench(
        running,
        { kind: "query_done", id: 7, result: { ...RESULT, ...more } as QueryResult, tookMs: 1 },
        facts({ nodes: { own: "n1", members } }),
      );
      const { run } = step.workbench;
      assert.deepEqual(run.kind === "done" && run.asked, { nodesText, missing });
    }
  });

  it("queries all nodes, and after Ctrl-N only the connected one", () => {
    const all = press(withText("select 1"), "ctrl-r");
    assert.deepEqual(all.effects.at(-1), { kind: "query", id: 7, sql: "select 1", params: [] });
    const turned = press(withText("select 1"), "ctrl-n");
    assert.equal(turned.flash?.message, "the next run asks n1");
    const one = press(turned.workbench, "ctrl-r");
    assert.deepEqual(one.effects.at(-1), { kind: "query", id: 7, sql: "select 1", params: [], isOfOneNode: true });
    const done = on(one.workbench, { kind: "query_done", id: 7, result: RESULT, tookMs: 1, isOfOneNode: true });
    assert.equal(done.run.kind === "done" && done.run.asked.nodesText, "of n1");
    assert.equal(press(turned.workbench, "ctrl-n").flash?.message, "the next run asks all 3 nodes");
  });

  it("ignores the result of an earlier statement", () => {
    assert.equal(on(running, { kind: "query_done", id: 6, result: RESULT, tookMs: 1 }).run.kind, "running");
    assert.equal(on(running, { kind: "query_failed", id: 8, message: "no" }).run.kind, "running");
  });

  it("shows the gateway's error with its line and column", () => {
    const failed = on(running, { kind: "query_failed", id: 7, message: "Wrong at character 16." });
    assert.deepEqual(failed.run, { kind: "failed", message: "Wrong at character 16. (line 2, column 7)" });
  });

  it("is canceled by the first Esc; the next one leaves the editor", () => {
    const step = press(running, "esc", { now: NOW + 3_000 });
    assert.deepEqual(step.effects, [{ kind: "cancel", id: 7 }]);
    assert.deepEqual(step.workbench.run, { kind: "failed", message: "canceled after 3s" });
    assert.ok(step.workbench.isEditing);
    assert.equal(press(step.workbench, "esc").workbench.isEditing, false);
    assert.deepEqual(press({ ...running, isEditing: false }, "esc").effects, [{ kind: "cancel", id: 7 }]);
  });

  it("is canceled by the next statement", () => {
    const step = press(running, "ctrl-r", { nextId: 9 });
    assert.deepEqual(
      step.effects.map((effect) => ("id" in effect ? `${effect.kind} ${effect.id}` : effect.kind)),
      ["cancel 7", "query 9"],
    );
  });
});

describe("parameters", () => {
  it("are written one per line and sent unchanged, as many as the statement has `?`", () => {
    const { workbench, effects } = pressAll(withText("select ? where ? = '?'"), [
      "ctrl-p",
      ...typed('ok\n"5"\nlater'),
      "ctrl-r",
    ]);
    assert.deepEqual(workbench.params, ["ok", '"5"', "later"]);
    assert.equal(workbench.isEditingParams, false);
    assert.deepEqual(queriesOf(effects), [
      { kind: "query", id: 7, sql: "select ? where ? = '?'", params: ["ok", '"5"'] },
    ]);
  });

  it("consume letters until Ctrl-P or Esc goes back", () => {
    for (const leaveEditor of ["ctrl-p", "esc"]) {
      const { workbench } = pressAll(withText("select ?"), ["ctrl-p", "q", leaveEditor, "x"]);
      assert.deepEqual([workbench.params, workbench.edit.text], [["q"], "select ?x"]);
    }
  });
});

describe("saved statements", () => {
  const saved = pressAll(withText("select 1"), ["ctrl-s", ...typed("hot-1"), "enter"]);

  it("are saved under a name and stored", () => {
    assert.deepEqual([...saved.workbench.statements], [["hot-1", "select 1"]]);
    assert.deepEqual(saved.effects, [
      { kind: "remember", what: { name: "statements", as: "hot-1", statement: "select 1" } },
    ]);
  });

  it("are loaded by name with Tab completion; the replaced text goes into the history", () => {
    const writing = { ...saved.workbench, edit: { text: "unfinished", at: 3 } };
    const { workbench } = pressAll(writing, ["ctrl-g", "h", "tab", "enter"]);
    assert.equal(workbench.edit.text, "select 1");
    assert.deepEqual(workbench.history, ["unfinished"]);
    assert.equal(workbench.asking, undefined);
  });

  it("refuse an invalid name and stay open for another", () => {
    const { workbench } = pressAll(withText("select 1"), ["ctrl-s", ...typed("a/b"), "enter"]);
    assert.equal(workbench.asking?.edit.text, "a/b");
    assert.equal(workbench.statements.size, 0);
  });

  it("are deleted by saving an empty one", () => {
    const { workbench } = pressAll({ ...saved.workbench, edit: { text: "", at: 0 } }, ["ctrl-s", "h", "tab", "enter"]);
    assert.equal(workbench.statements.size, 0);
  });

  it("open no prompt if there are none", () => {
    const step = press(EMPTY_WORKBENCH, "ctrl-g");
    assert.equal(step.workbench.asking, undefined);
    assert.match(step.flash?.message ?? "", /Ctrl-S/);
  });

  it("close the prompt with Esc without an effect", () => {
    const { workbench, effects } = pressAll(withText("select 1"), ["ctrl-s", "a", "esc"]);
    assert.deepEqual([workbench.asking, workbench.edit.text, effects], [undefined, "select 1", []]);
  });
});

describe("result", () => {
  it("handles moving keys once the editor is left, and leaves other letters to the console", () => {
    const { workbench } = pressAll(withResult(), ["down", "j", "j"]);
    assert.equal(workbench.result.row, 2);
    assert.equal(press(workbench, "g").workbench.result.row, 0);
    assert.equal(press(withResult(), "G").workbench.result.row, 2);
    for (const chord of ["1", ":", "?", "q", "z", "s", "esc"])
      assert.equal(press(workbench, chord).isTaken, false, chord);
  });

  it("shows the row under the cursor on a screen of any height", () => {
    const many = { ...RESULT, rows: Array.from({ length: 100 }, (_, at) => [String(at), at, null]) };
    const { workbench } = pressAll(withResult(many), ["pagedown", "pagedown", "down"]);
    const { row, offset } = workbench.result;
    assert.ok(row > 20 && offset <= row && row < offset + 17);
    assert.deepEqual(pressAll(withResult(many), ["G", "pageup", "g"]).workbench.result.offset, 0);
  });

  it("scrolls by columns within its bounds", () => {
    assert.equal(pressAll(withResult(), ["right", "right", "right", "right"]).workbench.result.column, 2);
    assert.equal(pressAll(withResult(), ["right", "left", "left"]).workbench.result.column, 0);
  });

  it("is copied row by row, as JSON if JSON is shown", () => {
    assert.deepEqual(press(withResult(), "c").effects, [{ kind: "copy", text: 'acme\t12\t["a","b"]' }]);
    assert.deepEqual(pressAll(withResult(), ["ctrl-o", "c"]).effects, [
      { kind: "copy", text: '{"name":"acme","used":12,"tags":["a","b"]},' },
    ]);
  });

  it("is not copied or written as JSON objects if two columns have the same name", () => {
    const twice = { ...RESULT, columns: RESULT.columns.map((column) => ({ ...column, name: "n" })) };
    const text = "two columns are named 'n', and an object has one: name them apart by AS";
    const copied = press(pressAll(withResult(twice), ["ctrl-o"]).workbench, "c");
    assert.deepEqual([copied.effects, copied.flash?.message], [[], text]);
    const asked = pressAll(withResult(twice), ["ctrl-x", "ctrl-u", ...typed("a.json")]).workbench;
    const step = press(asked, "enter");
    assert.deepEqual([step.effects, step.flash?.message], [[], `${text}, or save it as .csv`]);
    assert.equal(step.workbench.asking?.kind, "export");
  });

  it("goes back to the editor at Enter and changes nothing", () => {
    const step = press(withResult(), "enter");
    assert.deepEqual([step.workbench.isEditing, step.effects], [true, []]);
  });

  it("is written to a file whose name selects CSV or JSON", () => {
    const asked = press(withResult(), "ctrl-x").workbench;
    assert.equal(asked.asking?.edit.text, "query-20260110T000000Z.csv");
    const step = press(asked, "enter");
    assert.deepEqual(
      step.effects.map((effect) => (effect.kind === "job" && effect.job.kind === "save_text" ? effect.job.file : "")),
      ["query-20260110T000000Z.csv"],
    );
    const { effects } = pressAll(asked, ["ctrl-u", ...typed("a.json"), "enter"]);
    const [job] = effects;
    assert.ok(job?.kind === "job" && job.job.kind === "save_text" && job.job.text.startsWith('[\n{"name":"acme"'));
    assert.equal(press(withResult(), "w").workbench.asking?.kind, "export");
  });

  it("cannot be written before a statement ran", () => {
    assert.equal(press(withText("x"), "ctrl-x").flash?.message, "there is no result to save");
  });
});

describe("statement from another view", () => {
  it("runs immediately with the focus on its result; the previous text is in the history", () => {
    const step = openStatement(withText("half"), "select * from keys", facts());
    assert.equal(step.workbench.edit.text, "select * from keys");
    assert.equal(step.workbench.isEditing, false);
    assert.deepEqual(step.workbench.history, ["half", "select * from keys"]);
    assert.equal(queriesOf(step.effects).length, 1);
  });
});

describe("workbench keys", () => {
  it("never shadow keys of the whole console, except Esc", () => {
    const common = new Set(Object.values(COMMON).flatMap(({ chords }) => chords as readonly string[]));
    for (const { chords } of Object.values(WORKBENCH_KEYS)) {
      for (const chord of chords) assert.ok(chord === "esc" || !common.has(chord), chord);
    }
  });

  it("are shown as hints for the part that has the focus", () => {
    const hints = (workbench: typeof EMPTY_WORKBENCH) =>
      workbenchHints(workbench).map(({ chord, label }) => `${chord} ${label}`);
    assert.deepEqual(hints(EMPTY_WORKBENCH), [
      "ctrl-r run",
      "tab complete",
      "up history",
      "ctrl-p params",
      "esc leave",
      "ctrl-n nodes",
      "ctrl-o table/json",
      "ctrl-s save",
      "ctrl-g saved",
      "ctrl-x export",
    ]);
    assert.equal(hints(withResult())[0], "enter edit");
    assert.equal(hints(press(withText("select 1"), "ctrl-r").workbench)[0], "esc cancel");
    assert.deepEqual(hints(press(withText("x"), "ctrl-s").workbench), ["enter ok", "tab complete", "esc leave"]);
  });
});

it("Tab completes file names of an export", () => {
  const asking = press(withResult(), "ctrl-x").workbench;
  const named = { ...asking, asking: { kind: "export" as const, edit: { text: "out", at: 3 } } };
  assert.deepEqual(press(named, "tab").effects, [{ kind: "complete", id: facts().nextId, text: "out" }]);
});
