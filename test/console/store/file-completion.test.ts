/** File names in a prompt for one. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { putSecretDialog } from "../../../src/console/actions/secret-dialogs.ts";
import type { State } from "../../../src/console/model/state.ts";
import { openDialog } from "../../../src/console/store/step-dialog.ts";
import { after, lastStep, online, pressed, typed } from "./fixture.ts";

test("Tab completes a file name: a unique one, a common prefix, then each match in turn", () => {
  const prompted: State = {
    ...online(),
    prompt: { kind: "ask", label: "file", edit: { text: "/e", at: 2 }, before: "", isFile: true },
  };
  const { state, effects } = lastStep(prompted, "tab");
  assert.deepEqual(effects, [{ kind: "complete", id: 1, text: "/e" }]);
  const found = (...names: readonly string[]): State => after(state, [{ kind: "completed", text: "/e", found: names }]);
  const line = (of: State): string | undefined => of.prompt?.edit.text;
  assert.equal(line(found("/etc/")), "/etc/");
  assert.equal(line(found()), "/e");
  const several = found("/etc1.yaml", "/etc2.yaml");
  assert.equal(line(several), "/etc");
  assert.deepEqual(
    ["tab", "tab tab", "tab tab tab", "up", "down up"].map((chords) => line(pressed(several, chords))),
    ["/etc1.yaml", "/etc2.yaml", "/etc1.yaml", "/etc2.yaml", "/etc2.yaml"],
  );
  assert.equal(pressed(several, "x").prompt?.found, undefined, "what is typed is another question");
  assert.equal(
    line(after(pressed(state, "t"), [{ kind: "completed", text: "/e", found: ["/else"] }])),
    "/et",
    "too late",
  );
});

test("Tab completes the last of several words, and escapes special characters with a backslash", () => {
  const text = "-types URL one.jsonl my\\ c";
  const prompted: State = {
    ...online(),
    prompt: { kind: "ask", label: "files", edit: { text, at: text.length }, before: "", isFile: "many" },
  };
  const { state, effects } = lastStep(prompted, "tab");
  assert.deepEqual(effects, [{ kind: "complete", id: 1, text: "my c" }]);
  const found = after(state, [{ kind: "completed", text: "my c", found: ["my cases' 1.jsonl"] }]);
  assert.equal(found.prompt?.edit.text, "-types URL one.jsonl my\\ cases\\'\\ 1.jsonl");
});

test("in a dialog Tab completes a file name, cycles through matches, and moves on if there are none", () => {
  const open = pressed(openDialog(online(), putSecretDialog("token")), "tab");
  const at = (state: State) => [state.dialog?.focus, state.dialog?.values["file"]];
  assert.deepEqual(at(open), [1, ""]);
  assert.equal(pressed(open, "tab").dialog?.focus, -1, "an empty name is none to complete");
  const { state, effects } = lastStep(typed(open, "/e"), "tab");
  assert.deepEqual([effects.map(({ kind }) => kind), at(state)], [["complete"], [1, "/e"]]);
  const found = (of: State, text: string, ...names: readonly string[]): State =>
    after(of, [{ kind: "completed", text, found: names }]);
  assert.deepEqual(at(found(state, "/e", "/etc/")), [1, "/etc/"]);
  assert.deepEqual(at(found(state, "/e")), [-1, "/e"], "none begins so: it is as it was typed, and Tab goes on");
  assert.deepEqual(at(found(state, "/e", "/e")), [-1, "/e"], "it is whole");
  const several = found(state, "/e", "/etc1", "/etc2");
  assert.deepEqual(at(several), [1, "/etc"]);
  assert.deepEqual(
    ["tab", "tab tab", "tab tab tab", "up", "down down"].map((chords) => at(pressed(several, chords))[1]),
    ["/etc1", "/etc2", "/etc1", "/etc2", "/etc2"],
  );
  assert.deepEqual(at(pressed(several, "enter")), [-1, "/etc"], "Enter goes on");
  assert.equal(typed(several, "x").dialog?.found, undefined);
  assert.deepEqual(at(found(typed(state, "t"), "/e", "/else")), [1, "/et"], "too late");
  assert.deepEqual(at(found(pressed(state, "shift-tab"), "/e", "/etc/")), [0, "/e"], "for another field");
});
