/** Data that a dialog reads and shows: read once, shown, scrolled, and dropped with the dialog. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { drawDialog } from "../../../src/console/draw/dialog-box.ts";
import { renderDialog } from "../../../src/console/draw/screen-reader-dialog.ts";
import type { Dialog } from "../../../src/console/model/dialog.ts";
import { line, textOfLine } from "../../../src/console/model/text.ts";
import { withAttachment } from "../../../src/console/store/dialog-attachment.ts";
import { openDialog } from "../../../src/console/store/step-dialog.ts";
import { after, key, online, pressed, step, typed } from "./fixture.ts";

const DIALOG: Dialog = {
  title: "New revision",
  fields: [
    { kind: "text", id: "source", label: "Source", initial: "default" },
    { kind: "text", id: "value", label: "Value", initial: "", isUnseen: true },
  ],
  lines: () => [],
  attached: ({ source = "" }) => (source === "" ? undefined : { kind: "document", source }),
  confirm: { kind: "yes", button: "write" },
  task: () => ({ kind: "actions", actions: [] }),
};

const opened = withAttachment(undefined, { state: openDialog(online(), DIALOG), effects: [] });

test("an attachment is loaded when the dialog opens, once, and again for another subject", () => {
  const [load] = opened.effects;
  assert.ok(load?.kind === "load" && load.request.kind === "document" && load.request.source === "default");
  assert.deepEqual(step(opened.state, key("right")).effects, []);
  const typing = typed(opened.state, "x");
  assert.equal(typing.dialog?.attachment?.id, load.id);
  const left = step(typing, key("enter"));
  assert.deepEqual(
    left.effects.map((effect) => (effect.kind === "load" ? effect.request : effect)),
    [
      { kind: "cancel", id: load.id },
      { kind: "document", source: "defaultx" },
    ],
  );
  assert.deepEqual(step(opened.state, key("esc")).effects, [{ kind: "cancel", id: load.id }]);
});

test("the lines of an attachment are below the dialog text, and page keys scroll them", () => {
  const id = opened.state.dialog?.attachment?.id ?? 0;
  const lines = Array.from({ length: 60 }, (_, at) => line(`changed line ${at}`));
  const read = after(pressed(opened.state, "enter"), [{ kind: "page_loaded", id, lines }]);
  const seen = (state: typeof read): string => {
    assert.ok(state.dialog !== undefined);
    return drawDialog(state, state.dialog, { columns: 100, rows: 20, isWhole: false }).map(textOfLine).join("\n");
  };
  assert.match(seen(read), /changed line 1\b/);
  assert.match(seen(read), /y {2}write/);
  assert.doesNotMatch(seen(read), /changed line 30\b/);
  assert.match(seen(pressed(read, "pagedown pagedown pagedown pagedown")), /changed line 30\b/);
  assert.match(seen(pressed(read, "pagedown ".repeat(20).trim())), /changed line 59\b/);
  assert.match(seen(pressed(opened.state, "pagedown pagedown")), /Source/);
  const inField = after(opened.state, [{ kind: "page_loaded", id, lines }]);
  assert.match(
    seen(pressed(inField, "pagedown pagedown pagedown pagedown")),
    /changed line 30\b/,
    "with a field in focus",
  );
  assert.match(seen(pressed(read, `${"pagedown ".repeat(20)}${"pageup ".repeat(20)}`.trim())), /changed line 1\b/);
});

test("a hidden value appears in no frame and in no text read aloud", () => {
  const state = typed(pressed(opened.state, "tab"), "canary-secret");
  assert.equal(state.dialog?.values["value"], "canary-secret");
  assert.ok(state.dialog !== undefined);
  const frame = drawDialog(state, state.dialog, { columns: 100, rows: 30, isWhole: false });
  assert.match(frame.map(textOfLine).join("\n"), /\*{8} and more, not shown/);
  assert.doesNotMatch(JSON.stringify([frame, renderDialog(state, state.dialog)]), /canary/);
});
