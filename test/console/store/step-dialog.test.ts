/** Dialogs: the two keys that start a change, and all others, which do not. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Dialog } from "../../../src/console/model/dialog.ts";
import type { Effect, Event, State } from "../../../src/console/model/state.ts";
import { boxOf, focusOf, openDialog, whyNotConfirmed } from "../../../src/console/store/step-dialog.ts";
import { after, key, lastStep, mintDialog, NOW, online, pressed, step, typed } from "./fixture.ts";

const flashMessage = (state: State): string => state.flash?.message ?? "";
const paste = (text: string): Event => ({ kind: "paste", text });
const values = (state: State) => state.dialog?.values;
const focus = (state: State): string | undefined => {
  const of = state.dialog === undefined ? undefined : focusOf(state.dialog);
  return of === "typed" || of === undefined ? of : of.id;
};
const tasksIn = (effects: readonly Effect[]): number => effects.filter(({ kind }) => kind === "task").length;

test("Ctrl-O confirms from inside a field, and does not replace a typed name", () => {
  assert.equal(tasksIn(lastStep(online(), "s ctrl-o").effects), 1);
  assert.equal(tasksIn(lastStep(typed(pressed(online(), "s"), "busy"), "ctrl-o").effects), 1);
  assert.equal(tasksIn(lastStep(pressed(online(), "s ctrl-u"), "ctrl-o").effects), 0, "the reason is missing");
  const removing = pressed(online(), "X");
  assert.equal(tasksIn(lastStep(removing, "ctrl-o").effects), 0);
  assert.equal(tasksIn(lastStep(typed(removing, "acme-cha"), "ctrl-o").effects), 0);
  assert.equal(tasksIn(lastStep(typed(removing, "acme-chat"), "ctrl-o").effects), 1);
});

test("s, Enter and y suspend", () => {
  const { state, effects } = lastStep(online(), "s enter y");
  assert.ok(effects[0]?.kind === "task" && effects[0].task.kind === "actions");
  assert.equal(effects[0].task.actions[0]?.request.path, "/admin/v1/suspensions/provider:acme-chat");
  assert.deepEqual(state.dialog?.stage, { kind: "running", message: "suspend now", since: NOW });
});

for (const [what, event] of [
  ["Enter", key("enter")],
  ["a paste of y", paste("y")],
  ["an arrow", key("down")],
] as const) {
  test(`${what} does nothing in a dialog and leaves it open`, () => {
    const { state, effects } = step(pressed(online(), "s"), event);
    assert.deepEqual([state.dialog?.stage.kind, effects], ["asking", []]);
  });
}

for (const chord of ["n", "s", "q", "Y", "space", "1", "u", "X"]) {
  test(`${chord} typed without a focused field does nothing, and makes a following y a letter`, () => {
    const open = pressed(online(), "s enter");
    const { state, effects } = lastStep(open, chord);
    assert.deepEqual([state.dialog?.stage.kind, effects], ["asking", []]);
    assert.deepEqual(lastStep(state, "y").effects, []);
    assert.equal(tasksIn(lastStep(state, "enter y").effects), 1);
    assert.deepEqual([pressed(state, "esc").dialog, lastStep(state, "esc").effects], [undefined, []]);
  });
}

test("any text typed at a dialog stays in it and changes nothing", () => {
  const letters = fc.array(fc.constantFrom(..."abcdefghijklmnopqrstuvwxyzABCSXUEY0123456789:/?!-".split("")), {
    minLength: 1,
    maxLength: 40,
  });
  for (const [verb, isTyped] of [
    ["s", false],
    ["space space s", false],
    ["m", false],
    ["X", true],
  ] as const) {
    fc.assert(
      fc.property(letters, (typing) => {
        let state = pressed(online(), verb);
        const { id } = state.dialog ?? {};
        for (const letter of typing) {
          const next = step(state, key(letter));
          assert.equal(tasksIn(next.effects), 0, `${verb} then ${typing.join("")}`);
          state = next.state;
        }
        assert.equal(state.dialog?.id, id);
        assert.equal(isTyped, state.dialog?.dialog.confirm.kind === "typed");
      }),
      { numRuns: 100 },
    );
  }
});

test("text typed at a dialog without fields confirms nothing, even with a y in it", () => {
  const suspended = step(pressed(online(), "s enter y"), { kind: "task_done", id: 1, message: "suspended" }).state;
  const undoing = pressed(suspended, "u");
  assert.equal(undoing.dialog?.dialog.fields.length, 0);
  for (const text of ["busy", "nobody", "buyers", "key", "n y"]) {
    const typing = [...text].map((letter) => key(letter === " " ? "space" : letter));
    let state = undoing;
    for (const one of typing) {
      const next = step(state, one);
      assert.deepEqual(next.effects, [], text);
      state = next.state;
    }
    assert.equal(state.dialog?.stage.kind, "asking", text);
  }
});

test("the focus cycles through the fields and through none", () => {
  const open = pressed(online(), "s");
  assert.deepEqual(
    ["", " tab", " tab tab", " tab tab tab", " tab tab tab tab", " shift-tab"].map((more) =>
      focus(pressed(online(), `s${more}`)),
    ),
    ["reason", "duration", "nodes", undefined, "reason", undefined],
  );
  assert.equal(focus(pressed(open, "enter")), undefined);
  assert.equal(focus(pressed(open, "ctrl-u tab enter")), "reason", "Enter goes to what is required and empty");
});

test("letters go into a focused text field, including y", () => {
  const state = typed(pressed(online(), "s ctrl-u"), "why y");
  assert.equal(values(state)?.["reason"], "why y");
  assert.equal(values(after(state, [paste("!\n?")]))?.["reason"], "why y! ?");
  assert.equal(values(pressed(online(), "s down"))?.["reason"], "rotation");
});

test("left and right change the first choice without a focus, and the focused one otherwise", () => {
  assert.equal(values(pressed(online(), "s enter right"))?.["duration"], "1h");
  assert.equal(values(pressed(online(), "s enter left left"))?.["duration"], "1h");
  assert.equal(values(pressed(online(), "s tab space"))?.["duration"], "1h");
  assert.equal(pressed(online(), "s tab y").dialog?.stage.kind, "asking");
});

test("Space toggles the box selected with arrows", () => {
  const state = pressed(online(), "s tab tab right");
  assert.equal(state.dialog === undefined ? -1 : boxOf(state.dialog), 1);
  assert.equal(values(pressed(state, "space"))?.["nodes"], "n1,n2");
  assert.equal(values(pressed(state, "space left space"))?.["nodes"], "n2");
});

test("a required empty field gets the focus, and the dialog cannot be confirmed until it has text", () => {
  const open = pressed(online(), "m");
  assert.equal(focus(open), "name");
  assert.equal(whyNotConfirmed(open), "Name: required");
  assert.deepEqual(lastStep(open, "tab y").effects, []);
  assert.equal(tasksIn(lastStep(typed(open, "ci"), "tab y").effects), 1);
});

test("the dialog says why it cannot be confirmed, and runs nothing", () => {
  const { state, effects } = lastStep(typed(pressed(online(), "s ctrl-u"), "no"), "enter y");
  assert.deepEqual([flashMessage(state), effects], ["that is no reason", []]);
});

test("a typed confirmation needs Enter on exactly the text, and neither y nor a paste works", () => {
  const open = pressed(online(), "X");
  assert.equal(focus(open), "typed");
  assert.equal(tasksIn(lastStep(typed(open, "acme-cha"), "enter").effects), 0);
  assert.equal(tasksIn(lastStep(typed(open, "acme-chat"), "enter").effects), 1);
  assert.equal(tasksIn(lastStep(open, "tab y").effects), 0);
  const pasted = step(open, paste("acme-chat\n"));
  assert.equal(tasksIn(pasted.effects), 0);
  assert.equal(tasksIn(step(after(open, [paste("acme-chat")]), key("enter")).effects), 1);
});

test("while an action runs keys do nothing, and Esc says so", () => {
  const running = pressed(online(), "s enter y");
  assert.deepEqual(lastStep(running, "y").effects, []);
  assert.equal(pressed(running, "q n esc").dialog?.stage.kind, "running");
  assert.equal(flashMessage(pressed(running, "esc")), "still running: suspend now");
  const result = after(running, [{ kind: "task_progress", id: 1, message: "1 of 2" }]);
  assert.equal(flashMessage(pressed(result, "esc")), "still running: 1 of 2");
});

test("a failure stays in the dialog with the gateway's message, and y tries again", () => {
  const failed = after(pressed(online(), "s enter y"), [{ kind: "task_failed", id: 1, message: "no leader" }]);
  assert.deepEqual(failed.dialog?.stage, { kind: "failed", message: "no leader" });
  assert.deepEqual(failed.log, [...online().log, { at: NOW, message: "no leader" }]);
  assert.equal(tasksIn(lastStep(failed, "y").effects), 1);
  assert.equal(pressed(failed, "right").dialog?.stage.kind, "asking");
  assert.equal(pressed(failed, "esc").dialog, undefined);
});

test("a completed action closes the dialog, is announced and logged, and clears the marks", () => {
  const done = after(pressed(online(), "space s enter y"), [{ kind: "task_done", id: 1, message: "suspended" }]);
  assert.equal(done.dialog, undefined);
  assert.equal(flashMessage(done), "suspended");
  assert.equal(done.log.at(-1)?.message, "suspended");
  assert.equal([...done.tables.values()][0]?.marks.size, 0);
  assert.equal(after(done, [{ kind: "task_done", id: 9, message: "late" }]).log.at(-1)?.message, "late");
});

test("a text shown once is copied on c, forgotten on Esc alone, and kept nowhere else", () => {
  const secret = "gw-canary-0123456789";
  const running = pressed(typed(pressed(online(), "m"), "ci"), "tab y");
  const shown = after(running, [{ kind: "task_done", id: 1, message: `minted ci: ${secret}`, secret }]);
  assert.equal(shown.dialog?.stage.kind === "done" && shown.dialog.stage.secret, secret);
  const kept = pressed(shown, "enter y n q");
  assert.equal(kept.dialog?.stage.kind, "done");
  assert.deepEqual(lastStep(shown, "c").effects, [{ kind: "copy", text: secret }]);
  assert.equal(flashMessage(pressed(shown, "c")), "copied");
  const left = pressed(shown, "c esc");
  assert.equal(left.dialog, undefined);
  assert.ok(!JSON.stringify({ ...left, tables: [...left.tables] }).includes(secret));
  assert.ok(!JSON.stringify({ ...shown, dialog: undefined }).includes(secret));
});

test("c copies the equivalent command lines", () => {
  const { state, effects } = lastStep(online(), "space space s enter c");
  assert.deepEqual(effects, [
    {
      kind: "copy",
      text: ["acme-chat", "acme-alt"]
        .map(
          (name) =>
            `gateway admin -socket /run/gateway.sock -d '{"reason":"it'\\''s down"}' PUT suspensions/provider:${name}`,
        )
        .join("\n"),
    },
  ]);
  assert.equal(flashMessage(state), "copied 2 command lines");
  assert.equal(state.dialog?.stage.kind, "asking");
});

test("a dialog open during a lost connection does nothing until it is back", () => {
  const open = pressed(online(), "s enter");
  const failure = { status: 0, code: "unreachable", message: "no connection", at: NOW };
  const offline = { ...open.link, state: { kind: "offline", since: NOW, retryAt: NOW, failure } as const };
  const away = after(open, [{ kind: "link", link: offline }]);
  assert.deepEqual(lastStep(away, "y").effects, []);
  assert.equal(flashMessage(pressed(away, "y")), "not available while OFFLINE: no connection");
  assert.equal(tasksIn(lastStep(after(away, [{ kind: "link", link: open.link }]), "y").effects), 1);
});

test("a proposal is replaced by the first typed character, and edited by any other key", () => {
  const [name] = mintDialog.fields;
  assert.ok(name?.kind === "text");
  const proposing: Dialog = { ...mintDialog, fields: [{ ...name, initial: "standard", isProposal: true }] };
  const opened = openDialog(online(), proposing);
  const value = (chords: string): string | undefined => pressed(opened, chords).dialog?.values["name"];
  assert.equal(value("b a"), "ba");
  assert.equal(value("backspace"), "standar");
  assert.equal(value("home b"), "b", "it was not touched yet");
  assert.equal(value("backspace b"), "standarb");
  assert.equal(after(opened, [{ kind: "paste", text: "batch" }]).dialog?.values["name"], "batch");
});
