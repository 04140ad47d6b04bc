/** Editor keys by their effect on a text; `|` is the cursor. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { applyEdit, MAX_EDIT_LENGTH } from "../../../src/console/edit/edit.ts";
import { type Chord, type KeyEvent, NAMED_CHORDS } from "../../../src/console/model/key-event.ts";
import type { Edit } from "../../../src/console/model/state.ts";

const edit = (drawn: string): Edit => ({ text: drawn.replace("|", ""), at: drawn.indexOf("|") });
const drawn = ({ text, at }: Edit): string => `${text.slice(0, at)}|${text.slice(at)}`;
const key = (chord: Chord): KeyEvent => ({ kind: "key", chord });
const after = (text: string, event: KeyEvent, isMultiline: boolean): string | undefined => {
  const done = applyEdit(edit(text), event, { isMultiline });
  return done === undefined ? undefined : drawn(done);
};

const FAMILY = "👨‍👩‍👧";

const ONE_LINE: readonly (readonly [chord: Chord, from: string, to: string | undefined])[] = [
  ["x", "a|b", "ax|b"],
  ["space", "a|b", "a |b"],
  ["é", "|", "é|"],
  ["backspace", "ab|c", "a|c"],
  ["backspace", "|ab", "|ab"],
  ["backspace", `a${FAMILY}|b`, "a|b"],
  ["backspace", "e\u0301|x", "|x"],
  ["delete", "a|bc", "a|c"],
  ["delete", `|${FAMILY}b`, "|b"],
  ["delete", "ab|", "ab|"],
  ["left", "ab|", "a|b"],
  ["left", "😀|", "|😀"],
  ["right", "|😀a", "😀|a"],
  ["right", "a|", "a|"],
  ["home", "one two|", "|one two"],
  ["ctrl-a", "one |two", "|one two"],
  ["end", "|one", "one|"],
  ["ctrl-e", "o|ne", "one|"],
  ["ctrl-k", "one| two", "one|"],
  ["ctrl-u", "one| two", "| two"],
  ["ctrl-w", "select a.b|", "select |"],
  ["ctrl-w", "one  | two", "| two"],
  ["alt-backspace", "select a.b|", "select a.|"],
  ["alt-b", "one two|", "one |two"],
  ["ctrl-left", "one, |two", "|one, two"],
  ["alt-f", "|one two", "one| two"],
  ["ctrl-right", "one| two", "one two|"],
  ["enter", "a|", undefined],
  ["up", "a|", undefined],
  ["down", "a|", undefined],
  ["tab", "a|", undefined],
  ["esc", "a|", undefined],
  ["ctrl-r", "a|", undefined],
  ["pageup", "a|", undefined],
];

for (const [chord, from, to] of ONE_LINE) {
  test(`${chord} turns ${from} into ${to ?? "nothing"}`, () => assert.equal(after(from, key(chord), false), to));
}

const MANY_LINES: readonly (readonly [chord: Chord, from: string, to: string | undefined])[] = [
  ["enter", "a|b", "a\n|b"],
  ["home", "one\ntwo|", "one\n|two"],
  ["end", "o|ne\ntwo", "one|\ntwo"],
  ["ctrl-u", "one\ntwo|", "one\n|"],
  ["ctrl-k", "o|ne\ntwo", "o|\ntwo"],
  ["ctrl-k", "one|\ntwo", "one|two"],
  ["backspace", "one\n|two", "one|two"],
  ["up", "long\nab|c", "lo|ng\nabc"],
  ["up", "a\nabc|", "a|\nabc"],
  ["up", "日本\nab|c", "日|本\nabc"],
  ["up", "ab|c\nd", undefined],
  ["down", "ab|c\nd", "abc\nd|"],
  ["down", "ab|c\ndef\ng", "abc\nde|f\ng"],
  ["down", "a\nb|", undefined],
  ["down", "|\n", "\n|"],
  ["left", "a\n|b", "a|\nb"],
];

for (const [chord, from, to] of MANY_LINES) {
  test(`in multi-line text ${chord} turns ${JSON.stringify(from)} into ${JSON.stringify(to)}`, () => {
    assert.equal(after(from, key(chord), true), to);
  });
}

test("a paste keeps its lines in multi-line text, and has blanks for them elsewhere", () => {
  const event: KeyEvent = { kind: "paste", text: "a\r\nb\rc\td" };
  assert.equal(after("<|>", event, true), "<a\nb\nc d|>");
  assert.equal(after("<|>", event, false), "<a b c d|>");
});

test("controls in a paste are dropped, and half a code point is replaced", () => {
  assert.equal(after("|", { kind: "paste", text: "\u001b[31mred\u0007\u0085\ud83d" }, true), "[31mred\ufffd|");
});

test("a text grows no longer than its limit, and is never cut inside a code point", () => {
  const full = { text: "x".repeat(MAX_EDIT_LENGTH - 1), at: 3 };
  const emoji = applyEdit(full, { kind: "paste", text: "😀" }, { isMultiline: false });
  assert.deepEqual(emoji, full);
  const letters = applyEdit(full, { kind: "paste", text: "ab" }, { isMultiline: false });
  assert.equal(letters?.text.length, MAX_EDIT_LENGTH);
  assert.deepEqual(applyEdit(letters as Edit, key("z"), { isMultiline: false }), letters);
});

test("for any input, the cursor stays within the text and between code points", () => {
  const chord = fc.oneof(
    fc.constantFrom(...NAMED_CHORDS, ..."aekuwy".split("").map((letter) => `ctrl-${letter}`)),
    fc.string({ unit: "binary", minLength: 1, maxLength: 1 }),
  );
  const event: fc.Arbitrary<KeyEvent> = fc.oneof(
    { weight: 5, arbitrary: chord.map(key) },
    { weight: 1, arbitrary: fc.string({ unit: "binary" }).map((text): KeyEvent => ({ kind: "paste", text })) },
  );
  fc.assert(
    fc.property(fc.array(event, { maxLength: 60 }), fc.boolean(), (events, isMultiline) => {
      let now: Edit = { text: "", at: 0 };
      for (const one of events) {
        now = applyEdit(now, one, { isMultiline }) ?? now;
        assert.ok(now.at >= 0 && now.at <= now.text.length);
        assert.ok(now.text.isWellFormed() && now.text.slice(0, now.at).isWellFormed());
        assert.doesNotMatch(now.text, isMultiline ? /[\x00-\x09\x0b-\x1f\x7f-\x9f]/ : /[\x00-\x1f\x7f-\x9f]/);
      }
    }),
  );
});
