/** Whether a terminal is dark on light, by its answer and by environment variables. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { isLightBy, isLightIn } from "../../../src/console/terminal/background-color.ts";
import { createDecoder } from "../../../src/console/terminal/decode-keys.ts";

test("the background color is read from a terminal's answer with any number of digits", () => {
  for (const [answer, isLight] of [
    ["11;rgb:ffff/ffff/ffff", true],
    ["11;rgb:fdfd/f6f6/e3e3", true],
    ["11;rgb:ff/ff/e0", true],
    ["11;rgba:0000/0000/0000/ffff", false],
    ["11;rgb:0000/2b2b/3636", false],
    ["11;rgb:0/0/f", false],
    ["10;rgb:ffff/ffff/ffff", undefined],
    ["11;#ffffff", undefined],
    ["", undefined],
  ] as const)
    assert.equal(isLightIn(answer), isLight, answer);
});

test("the environment decides if the terminal does not answer", () => {
  for (const [value, isLight] of [
    ["0;15", true],
    ["15;0", false],
    ["0;default;7", true],
    ["7;8", false],
    ["15;default", undefined],
    ["0;231", undefined],
    ["", undefined],
  ] as const)
    assert.equal(isLightBy({ COLORFGBG: value }), isLight, value);
  assert.equal(isLightBy({}), undefined);
});

test("an answer split at any byte never becomes a key", () => {
  const bytes = Buffer.from("a\u001b]11;rgb:ffff/ffff/ffff\u001b\\b\u001b]11;rgb:0/0/0\u0007c", "latin1");
  for (let cut = 0; cut <= bytes.length; cut += 1) {
    const reported: string[] = [];
    const decoder = createDecoder(undefined, (text) => reported.push(text));
    const keys = [...decoder.feed(bytes.subarray(0, cut)), ...decoder.feed(bytes.subarray(cut))];
    assert.deepEqual(
      keys.map((event) => (event.kind === "key" ? event.chord : "")),
      ["a", "b", "c"],
    );
    assert.deepEqual(reported.map(isLightIn), [true, false]);
  }
});
