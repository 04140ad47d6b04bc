/** Bytes of a keyboard, and their keys. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type KeyEvent, MAX_PASTE_LENGTH, NAMED_CHORDS } from "../../../src/console/model/key-event.ts";
import { createDecoder } from "../../../src/console/terminal/decode-keys.ts";
import { bytesOfChord } from "../support/chords.ts";

const bytesOf = (text: string): Uint8Array => Buffer.from(text, "utf8");
const key = (chord: string): KeyEvent => ({ kind: "key", chord });

/** Returns the events of `bytes` followed by a pause. */
function decode(bytes: Uint8Array | string): readonly KeyEvent[] {
  const decoder = createDecoder();
  return [...decoder.feed(typeof bytes === "string" ? bytesOf(bytes) : bytes), ...decoder.flush()];
}

/** Returns chords, and the text of pastes in quotes. */
const eventTexts = (events: readonly KeyEvent[]): readonly string[] =>
  events.map((event) => (event.kind === "key" ? event.chord : JSON.stringify(event.text)));

const SPELLINGS: readonly (readonly [chords: string, ...spellings: string[]])[] = [
  ["enter", "\r", "\n", "\u001bOM"],
  ["tab", "\t"],
  ["shift-tab", "\u001b[Z", "\u001b[1;2Z"],
  ["space", " "],
  ["backspace", "\u007f", "\b"],
  ["delete", "\u001b[3~"],
  ["esc", "\u001b"],
  ["up", "\u001b[A", "\u001bOA", "\u001b[1A"],
  ["down", "\u001b[B", "\u001bOB"],
  ["right", "\u001b[C", "\u001bOC"],
  ["left", "\u001b[D", "\u001bOD"],
  ["home", "\u001b[H", "\u001bOH", "\u001b[1~", "\u001b[7~"],
  ["end", "\u001b[F", "\u001bOF", "\u001b[4~", "\u001b[8~"],
  ["pageup", "\u001b[5~"],
  ["pagedown", "\u001b[6~"],
  ["f1", "\u001bOP", "\u001b[11~", "\u001b[[A", "\u001b[P"],
  ["f2", "\u001bOQ", "\u001b[12~", "\u001b[[B"],
  ["f3", "\u001bOR", "\u001b[13~", "\u001b[[C"],
  ["f4", "\u001bOS", "\u001b[14~", "\u001b[[D"],
  ["f5", "\u001b[15~", "\u001b[[E"],
  ["f6", "\u001b[17~"],
  ["f7", "\u001b[18~"],
  ["f8", "\u001b[19~"],
  ["f9", "\u001b[20~"],
  ["f10", "\u001b[21~"],
  ["f11", "\u001b[23~"],
  ["f12", "\u001b[24~"],
  ["shift-f12", "\u001b[24;2~"],
  ["shift-up", "\u001b[1;2A", "\u001b[a"],
  ["ctrl-left", "\u001b[1;5D", "\u001bOd", "\u001bO5D", "\u001bO1;5D"],
  ["ctrl-right", "\u001b[1;5C", "\u001bOc"],
  ["alt-left", "\u001b[1;3D", "\u001b[1;9D"],
  ["ctrl-alt-shift-up", "\u001b[1;8A"],
  ["ctrl-delete", "\u001b[3;5~"],
  ["alt-enter", "\u001b\r", "\u001b\n"],
  ["alt-backspace", "\u001b\u007f", "\u001b\b"],
  ["alt-b", "\u001bb"],
  ["alt-P", "\u001bP"],
  ["alt-é", "\u001bé"],
  ["ctrl-a", "\u0001"],
  ["ctrl-z", "\u001a"],
  ["é", "é"],
  ["日", "日"],
  ["😀", "😀"],
];

test("each key is recognized in all its encodings", () => {
  for (const [chord, ...spellings] of SPELLINGS) {
    for (const spelling of spellings) assert.deepEqual(eventTexts(decode(spelling)), [chord], JSON.stringify(spelling));
  }
});

test("the chords of the test terminal decode to themselves", () => {
  for (const chord of [...NAMED_CHORDS, "a", "Z", "/", "é", "ctrl-r", "ctrl-z"]) {
    assert.deepEqual(eventTexts(decode(bytesOfChord(chord))), [chord]);
  }
});

test("characters typed ahead are keys of their own", () => {
  assert.deepEqual(eventTexts(decode("2 sy\r")), ["2", "space", "s", "y", "enter"]);
});

test("Esc is reported at a second Esc, at a control character, or after the pause", () => {
  const decoder = createDecoder();
  assert.deepEqual(decoder.feed(bytesOf("\u001b")), []);
  assert.equal(decoder.isPending, true);
  assert.deepEqual(eventTexts(decoder.feed(bytesOf("\u001b"))), ["esc"]);
  assert.deepEqual(eventTexts(decoder.flush()), ["esc"]);
  assert.equal(decoder.isPending, false);
  assert.deepEqual(eventTexts(decode("\u001b\u0003")), ["esc", "ctrl-c"]);
  assert.deepEqual(eventTexts(decode("\u001b\u001b[A")), ["esc", "up"]);
});

const SWALLOWED: Readonly<Record<string, string>> = {
  "a report of the mouse": "\u001b[<0;10;5M\u001b[<0;10;5m",
  "a report of the mouse as it was of old": "\u001b[M yy",
  "a report of the focus": "\u001b[I\u001b[O",
  "a report of the cursor": "\u001b[24;80R",
  "a key that the console does not know": "\u001b[25~\u001b[2~\u001bOX\u001b[[F\u001b[97;5u\u001b[27;5;13~",
  "a modifier that there is not": "\u001b[1;99A",
  "attributes of the terminal": "\u001b[?64;1;2;6c\u001b[>0;276;0c",
  "the answer about a mode": "\u001b[?2026;2$y",
  "a colour, ended by BEL": "\u001b]11;rgb:1414/1616/1b1b\u0007",
  "a colour, ended by ST": "\u001b]11;rgb:1414/1616/1b1b\u001b\\",
  "a version": "\u001bP>|xterm(390)\u001b\\",
  "a version in upper controls": "\u0090>|xterm(390)\u009c",
  "an arrow that has no end of its own": `\u001b[${"1;".repeat(500)}A`,
  "the end of a paste that did not begin": "\u001b[201~",
  "a control that is no key": "\u001c\u001f\u0085",
  "a character that turns the direction of text": "\u202e",
};

test("unknown sequences are ignored completely", () => {
  for (const [what, bytes] of Object.entries(SWALLOWED)) {
    assert.deepEqual(eventTexts(decode(`${bytes}k`)), ["k"], what);
  }
});

test("a status answer is recognized at any split and is not a key", () => {
  const bytes = bytesOf("a\u001b\u001b[0nb\u001b[3n\u001b[5n\u001b[?0nc");
  for (let cut = 0; cut <= bytes.length; cut += 1) {
    let answers = 0;
    const decoder = createDecoder(() => {
      answers += 1;
    });
    const events = [...decoder.feed(bytes.subarray(0, cut)), ...decoder.feed(bytes.subarray(cut))];
    assert.deepEqual([eventTexts(events), answers], [["a", "esc", "b", "c"], 2], `cut at ${cut}`);
  }
});

test("the rest of a report after a pause is not read as keys", () => {
  const decoder = createDecoder();
  for (const part of ["\u001b[<0;", "10;5", "M", "\u001b]11;rgb", ":ss\u001b", "\\"]) {
    assert.deepEqual(decoder.feed(bytesOf(part)), []);
    if (!part.endsWith("\u001b")) assert.deepEqual(decoder.flush(), []);
  }
  assert.equal(decoder.isPending, false);
});

test("Ctrl-C works within an endless sequence, and Esc ends it", () => {
  assert.deepEqual(eventTexts(decode("\u001b[1;\u0003k")), ["ctrl-c", "k"]);
  assert.deepEqual(eventTexts(decode("\u001b]0;abc\u0003k")), ["ctrl-c", "k"]);
  const decoder = createDecoder();
  decoder.feed(bytesOf("\u001b]0;abc\u001b"));
  assert.deepEqual(eventTexts(decoder.flush()), ["esc"]);
  assert.deepEqual(eventTexts(decoder.feed(bytesOf("k"))), ["k"]);
});

test("an endless reply is abandoned at its limit", () => {
  const decoder = createDecoder();
  decoder.feed(bytesOf(`\u001b]0;${"x".repeat(4_096)}`));
  assert.deepEqual(eventTexts(decoder.feed(bytesOf("k"))), ["k"]);
});

test("invalid UTF-8 is skipped without the following character", () => {
  for (const bytes of [
    [0xff],
    [0xc3],
    [0xe6, 0x97],
    [0xc0, 0xaf],
    [0xed, 0xa0, 0x80],
    [0xf4, 0x90, 0x80, 0x80],
    [0x80],
  ]) {
    assert.deepEqual(eventTexts(decode(Uint8Array.from([...bytes, 0x6b]))), ["k"], String(bytes));
  }
});

test("a paste is one event with line feeds", () => {
  assert.deepEqual(eventTexts(decode("\u001b[200~a\r\nb\rc\n\nd\u001b[201~k")), ['"a\\nb\\nc\\n\\nd"', "k"]);
  assert.deepEqual(eventTexts(decode("\u001b[200~\u001b[201~")), ['""']);
  assert.deepEqual(eventTexts(decode("\u001b[200~a\u001b[2\u001b[20\u001b[201~")), ['"a[2[20"']);
  assert.deepEqual(eventTexts(decode("\u001b[200~a\tb\u0000\u0003\u009b日\u001b[201~")), ['"a\\tb日"']);
});

test("an unfinished paste stays pending after any pause", () => {
  const decoder = createDecoder();
  assert.deepEqual(decoder.feed(bytesOf("\u001b[200~y\r\u001b")), []);
  assert.deepEqual(decoder.flush(), []);
  assert.equal(decoder.isPending, true);
  assert.deepEqual(eventTexts(decoder.feed(bytesOf("[201~"))), ['"y\\n"']);
});

test("a paste is cut at its limit, never within a character", () => {
  const [event] = decode(`\u001b[200~${"x".repeat(MAX_PASTE_LENGTH - 1)}😀yyy\u001b[201~`);
  assert.deepEqual(event, { kind: "paste", text: "x".repeat(MAX_PASTE_LENGTH - 1) });
  const [whole] = decode(`\u001b[200~${"x".repeat(MAX_PASTE_LENGTH)}\u001b[201~`);
  assert.deepEqual(whole, { kind: "paste", text: "x".repeat(MAX_PASTE_LENGTH) });
});

/** Possible input: keys, pastes and reports in any order, with noise. */
const input = fc
  .array(
    fc.oneof(
      fc.constantFrom(...SPELLINGS.flatMap(([, ...spellings]) => spellings)).map(bytesOf),
      fc.constantFrom(...Object.values(SWALLOWED)).map(bytesOf),
      fc.string({ unit: "grapheme", maxLength: 10 }).map(bytesOf),
      fc.string({ unit: "binary", maxLength: 20 }).map((text) => bytesOf(`\u001b[200~${text}\u001b[201~`)),
      fc.uint8Array({ maxLength: 6 }),
    ),
    { maxLength: 12 },
  )
  .map((parts) => Uint8Array.from(Buffer.concat(parts)));

test("splitting the bytes anywhere changes nothing", () => {
  fc.assert(
    fc.property(input, (bytes) => {
      const whole = createDecoder();
      const expected = [...whole.feed(bytes), ...whole.flush()];
      for (let cut = 0; cut <= bytes.length; cut += 1) {
        const decoder = createDecoder();
        const found = [
          ...decoder.feed(bytes.subarray(0, cut)),
          ...decoder.feed(bytes.subarray(cut)),
          ...decoder.flush(),
        ];
        assert.deepEqual(found, expected, `cut at ${cut}`);
      }
      const decoder = createDecoder();
      const found = [...bytes].flatMap((byte) => decoder.feed(Uint8Array.of(byte)));
      assert.deepEqual([...found, ...decoder.flush()], expected, "cut everywhere");
    }),
  );
});

test("random bytes never throw, and a key is always a name or one printable character", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 400 }), (bytes) => {
      for (const event of decode(bytes)) {
        if (event.kind === "key") assert.match(event.chord, /^(?:(?:[a-z]+-)*(?:[a-z]+\d?|\P{Cc})|\P{Cc})$/u);
      }
    }),
    { numRuns: 500 },
  );
});

test("nothing inside a paste is ever a key", () => {
  const text = fc.string({ unit: "binary", maxLength: 60 }).filter((it) => !it.includes("\u001b[201~"));
  fc.assert(
    fc.property(text, fc.integer({ min: 1, max: 7 }), (pasted, step) => {
      const bytes = bytesOf(`${pasted}\u001b[201~`);
      const decoder = createDecoder();
      const events = [...decoder.feed(bytesOf("\u001b[200~"))];
      for (let at = 0; at < bytes.length; at += step) {
        events.push(...decoder.feed(bytes.subarray(at, at + step)), ...decoder.flush());
      }
      assert.deepEqual(
        events.map(({ kind }) => kind),
        ["paste"],
      );
      assert.deepEqual(decoder.feed(bytesOf("k")), [key("k")]);
    }),
    { numRuns: 300 },
  );
});
