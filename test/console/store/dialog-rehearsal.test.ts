/** A dialog's effect on the last hour: read once, shown, opened by Enter, and dropped with the dialog. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { RehearsalResult } from "../../../src/admin-api/index.ts";
import { drawDialog } from "../../../src/console/draw/dialog-box.ts";
import { renderDialog } from "../../../src/console/draw/screen-reader-dialog.ts";
import type { Dialog } from "../../../src/console/model/dialog.ts";
import type { RehearsalOutcome } from "../../../src/console/model/rehearsal.ts";
import type { State, Step } from "../../../src/console/model/state.ts";
import { line, textOfLine } from "../../../src/console/model/text.ts";
import { reopenDialog, withRehearsal } from "../../../src/console/store/dialog-rehearsal.ts";
import { openDialog } from "../../../src/console/store/step-dialog.ts";
import { REHEARSED } from "../../server/admin/support/memory-rehearsals.ts";
import { after, key, lastStep, online, pressed, step, typed } from "./fixture.ts";

const DIALOG: Dialog = {
  title: "Roll default back",
  fields: [],
  lines: () => [["Effect", line("writes it")]],
  rehearses: () => ({ source: "default", from: { kind: "revision", revision: 2 } }),
  confirm: { kind: "yes", button: "roll back" },
  task: () => ({ kind: "actions", actions: [] }),
};
const TYPED: Dialog = {
  ...DIALOG,
  confirm: { kind: "typed", button: "write", label: "type the name", expected: () => "ours" },
};
const NAMED: Dialog = {
  ...DIALOG,
  fields: [{ kind: "text", id: "source", label: "Source", initial: "default" }],
  rehearses: ({ source = "" }) => (source === "" ? undefined : { source, from: { kind: "file", file: "d.yaml" } }),
};

const opened = (dialog: Dialog): Step => withRehearsal(undefined, { state: openDialog(online(), dialog), effects: [] });

const answered = ({ state }: Step, outcome: RehearsalOutcome): State =>
  after(state, [{ kind: "rehearsed", id: state.dialog?.rehearsal?.id ?? 0, outcome }]);

const done = (changes: Partial<RehearsalResult> = {}): RehearsalOutcome => ({
  kind: "done",
  result: { ...REHEARSED, ...changes },
});

const seen = (state: State): string => {
  assert.ok(state.dialog !== undefined);
  return drawDialog(state, state.dialog, { columns: 110, rows: 24, isWhole: false }).map(textOfLine).join("\n");
};

test("a rehearsal starts when the dialog opens, once, and the dialog can be confirmed without it", () => {
  const begun = opened(DIALOG);
  assert.deepEqual(
    begun.effects.map((effect) => effect.kind === "rehearse" && effect.request),
    [{ source: "default", from: { kind: "revision", revision: 2 } }],
  );
  assert.match(seen(begun.state), /Last hour +Rehearsing the last hour…/);
  assert.deepEqual(step(begun.state, { kind: "tick", now: 5 }).effects, []);
  const [task] = step(begun.state, key("y")).effects;
  assert.equal(task?.kind, "task");
  assert.match(pressed(begun.state, "enter").flash?.message ?? "", /still rehearsing/);
});

test("the effect is above the other text, and is read aloud", () => {
  const state = answered(opened(DIALOG), done());
  const text = seen(state);
  assert.match(text, /Last hour +2 requests: 1 would be refused by rule no-previews \(all of ci\)/);
  assert.match(text, /not covered: records begin at 2026-11-20T11:30/);
  assert.ok(text.indexOf("Last hour") < text.indexOf("writes it"));
  assert.ok(state.dialog !== undefined);
  assert.match(JSON.stringify(renderDialog(state, state.dialog)), /Last hour: 2 requests: 1 would be refused/);
});

const PLAIN: readonly (readonly [name: string, outcome: RehearsalOutcome, shows: RegExp])[] = [
  [
    "no rehearsal was made",
    { kind: "none", reason: "the policy does not permit it" },
    /not rehearsed: the policy does not/,
  ],
  ["nothing changes", done({ same: 2, refused: 0, changes: [], examples: [] }), /all with the same outcome/],
  ["no requests", done({ requests: 0, same: 0, refused: 0, changes: [], examples: [] }), /no recent requests/],
  [
    "foreign text",
    done({ changes: [{ outcome: "refused", cause: "rule \u001b[31m", requests: 1, callers: [] }] }),
    /refused by rule \\u001b\[31m/,
  ],
];

for (const [name, outcome, shows] of PLAIN) {
  test(`a rehearsal is one line: ${name}`, () => {
    const text = seen(answered(opened(DIALOG), outcome));
    assert.match(text, shows);
    assert.equal(text.includes("Enter  shows"), name === "foreign text");
  });
}

test("Enter opens the requests, and Esc returns to the unchanged dialog", () => {
  for (const dialog of [DIALOG, TYPED]) {
    const state = answered(opened(dialog), done());
    const rows = pressed(state, "enter");
    assert.equal(rows.dialog, undefined, dialog.confirm.kind);
    assert.deepEqual(rows.place, { view: "rehearsal" });
    assert.equal(rows.rehearsed?.title, "Roll default back");
    assert.equal(rows.rehearsed.result.refused, 1);
    const back = lastStep(rows, "esc");
    assert.deepEqual(back.state.place, state.place);
    assert.deepEqual(back.state.dialog, state.dialog);
    assert.deepEqual(back.effects, [], "nothing is asked again");
    assert.equal(back.state.suspendedDialog, undefined);
  }
  const written = typed(answered(opened(TYPED), done()), "ours");
  assert.equal(lastStep(written, "enter").effects[0]?.kind, "task", "what is typed is confirmed");
});

test("a dialog set aside is dropped when another opens, and never returns elsewhere", () => {
  const rows = pressed(answered(opened(DIALOG), done()), "enter");
  assert.equal(reopenDialog({ ...rows, place: { view: "providers" } }).dialog, undefined);
  const other = after(openDialog(rows, TYPED), [{ kind: "tick", now: 5 }]);
  assert.equal(other.suspendedDialog, undefined);
  assert.equal(pressed(other, "esc").dialog, undefined);
});

test("a changed document starts another rehearsal, and leaving cancels the running one", () => {
  const begun = opened(NAMED);
  const id = begun.state.dialog?.rehearsal?.id ?? 0;
  const typing = typed(begun.state, "x");
  assert.equal(typing.dialog?.rehearsal?.id, id, "not every letter is a question");
  assert.deepEqual(
    step(typing, key("enter")).effects.map((effect) => (effect.kind === "rehearse" ? effect.request.source : effect)),
    [{ kind: "cancel", id }, "defaultx"],
  );
  assert.deepEqual(step(begun.state, key("esc")).effects, [{ kind: "cancel", id }]);
  const late = after(step(begun.state, key("esc")).state, [{ kind: "rehearsed", id, outcome: done() }]);
  assert.equal(late.dialog, undefined);
});

test("a document known later is rehearsed once it is known, and again if it changes", () => {
  let text: string | undefined;
  const trial: Dialog = {
    ...TYPED,
    rehearses: () =>
      text === undefined ? undefined : { source: "default", from: { kind: "document", document: text } },
  };
  const begun = opened(trial);
  assert.deepEqual(begun.effects, []);
  text = "a: 1";
  const tried = step(begun.state, { kind: "tick", now: 6 });
  assert.deepEqual(
    tried.effects.map(({ kind }) => kind),
    ["rehearse"],
  );
  text = "a: 2";
  const again = step(tried.state, { kind: "tick", now: 7 });
  assert.deepEqual(
    again.effects.map(({ kind }) => kind),
    ["cancel", "rehearse"],
  );
  text = undefined;
  const gone = step(again.state, { kind: "tick", now: 8 });
  assert.deepEqual(
    gone.effects.map(({ kind }) => kind),
    ["cancel"],
  );
  assert.equal(gone.state.dialog?.rehearsal, undefined);
});
