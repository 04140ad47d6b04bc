/** Names of files in a line that asks for one. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { State } from "../../../src/console/model/state.ts";
import { after, lastStep, online, pressed } from "./fixture.ts";

test("Tab in a line that asks for a file completes its name: the only one, what several begin with, then each in turn", () => {
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

test("of several words Tab completes the last, and what would part a name stands behind a backslash", () => {
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
