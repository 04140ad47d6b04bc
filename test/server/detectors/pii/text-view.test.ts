import assert from "node:assert/strict";
import test from "node:test";
import { viewsOf } from "../../../../src/server/detectors/pii/text-view.ts";

const viewOf = (text: string) => viewsOf(text)[0];

const DIGIT = /\p{Nd}/u;

test("every Unicode digit becomes an ASCII digit in a view, in blocks of ten", () => {
  let place = 0;
  let count = 0;
  for (let codePoint = 0; codePoint <= 0x10ffff; codePoint++) {
    const character = String.fromCodePoint(codePoint);
    if ((codePoint & 0x1ff800) === 0xd800 || !DIGIT.test(character)) {
      if (place !== 0) assert.equal(place, 10, codePoint.toString(16));
      place = 0;
      continue;
    }
    assert.equal(viewOf(`x${character}`).text, `x${place % 10}`, codePoint.toString(16));
    place = (place % 10) + 1;
    count += 1;
  }
  assert.ok(count >= 760, `${count}`);
});

test("each offset of a view maps to the text, whatever was folded or dropped before it", () => {
  const parts = [
    "a",
    "é",
    "😀",
    "٣",
    "𝟗",
    "\u200b",
    "\u00a0",
    "Ａ",
    "\u{e0100}",
    "\u{10ffff}",
    "\ud800",
    "\u00ad",
    "1",
    " ",
  ];
  let seed = 7;
  const next = () => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
    return seed / 2 ** 31;
  };
  for (let round = 0; round < 2000; round++) {
    const chosen = Array.from({ length: 1 + Math.floor(next() * 12) }, () => parts[Math.floor(next() * parts.length)]!);
    const text = chosen.join("");
    const { text: view, startOf, endOf } = viewOf(text);
    let at = 0;
    let from = 0;
    for (const part of chosen) {
      const own = viewOf(part).text;
      if (own.length > 0) {
        assert.equal(startOf(at), from, JSON.stringify(text));
        assert.equal(endOf(at + own.length), from + part.length, JSON.stringify(text));
      }
      at += own.length;
      from += part.length;
    }
    assert.equal(at, view.length);
  }
});

test("a text without changes is its own view", () => {
  for (const text of ["", "plain 123", "Grüße, مرحبا 你好 😀"]) assert.equal(viewOf(text).text, text);
});
