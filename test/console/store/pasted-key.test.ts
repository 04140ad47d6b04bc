/** The text of a key is neither shown nor kept, wherever it is pasted or typed; its id leads to it. */

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import type { Event, State } from "../../../src/console/model/state.ts";
import { filterText } from "../../../src/console/store/prompt.ts";
import { createStep } from "../../../src/console/store/reducer.ts";
import { VIEWS } from "../../../src/console/views/all.ts";
import { stepWorkbench } from "../../../src/console/workbench/step-workbench.ts";
import { mintKey } from "../../../src/server/auth/index.ts";
import { key, online } from "./fixture.ts";

const { id, text } = mintKey(randomBytes);
const step = createStep({ views: VIEWS, stepWorkbench });
const after = (state: State, ...events: readonly Event[]): State =>
  events.reduce((now, event) => step(now, event).state, state);
const pressed = (chords: string): State => after(online([]), ...chords.split(" ").map(key));
const paste = (pasted: string): Event => ({ kind: "paste", text: pasted });
const chordsOf = (typed: string): readonly Event[] => [...typed].map((one) => key(one === " " ? "space" : one));

/** Asserts that no part of the state except readings contains more of the key than its id. */
function assertUnkept(state: State): void {
  const held = JSON.stringify(state, (name, value) =>
    name === "data" ? undefined : value instanceof Map || value instanceof Set ? [...value] : value,
  );
  assert.ok(!held.includes(text.slice(14)), "the secret part");
  assert.ok(!held.includes(`gwk_${id}_`), "the key as it begins");
}

for (const [where, chords] of [
  ["a table", "2"],
  ["a filter", "2 /"],
  ["a command line", ":"],
  ["a line that asks for a file", "8 V"],
] as const) {
  for (const [how, events] of [
    ["pasted into", [paste(text)]],
    ["pasted with more around it into", [paste(`curl -H 'authorization: Bearer ${text}'`)]],
    ["typed into", chordsOf(text)],
  ] as const) {
    if (how === "typed into" && where === "a table") continue;
    test(`a key ${how} ${where} leads to the key with its id`, () => {
      const state = after(pressed(chords), ...events);
      assert.deepEqual([state.place, state.prompt], [{ view: "keys", subject: id }, undefined]);
      assert.match(state.flash?.message ?? "", new RegExp(`key ${id}: the pasted text was not kept; .* X revokes it`));
      assertUnkept(state);
      assert.equal(filterText(after(state, key("esc"))), "", "nor is it a filter of where it was typed");
    });
  }
}

test("a key in a statement is removed, and the text around it stays", () => {
  for (const events of [[paste(`select '${text}'`)], chordsOf(`select '${text}`)]) {
    const state = after(pressed("9"), ...events);
    assert.equal(state.place.view, "query");
    assert.match(state.flash?.message ?? "", new RegExp(`:keys ${id}`));
    assertUnkept(state);
  }
});

test("a key in a dialog field is not sent, and the dialog stays open", () => {
  for (const events of [[paste(text)], chordsOf(`it leaked: ${text}`)]) {
    const state = after(pressed("3 m"), ...events);
    assert.equal(state.dialog?.stage.kind, "asking");
    assertUnkept(state);
  }
});

test("a key may be pasted as the value of a secret", () => {
  const open = after(pressed(":"), ...chordsOf("secrets"), key("enter"), key("n"), ...chordsOf("upstream"), key("tab"));
  assert.equal(after(open, paste(text)).dialog?.values["value"], text);
  assert.equal(after(open, ...chordsOf(text)).dialog?.values["value"], text);
});

test("a text that only looks like the beginning of a key is text", () => {
  assert.equal(after(pressed("2 /"), paste(`gwk_${id}`)).prompt?.edit.text, `gwk_${id}`);
  assert.equal(after(pressed("2 /"), paste(text.slice(0, -1))).prompt?.edit.text, text.slice(0, -1));
});
