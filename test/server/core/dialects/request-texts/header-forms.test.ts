/** Interpretations of header values: encoded words, split parameters, escapes in quotes, and their nesting. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { headerTexts } from "../../../../../src/server/core/dialects/request-texts/outside-body.ts";

const base64 = (text: string, encoding: BufferEncoding = "utf8") => Buffer.from(text, encoding).toString("base64");
const quoted = (text: string) => [...Buffer.from(text)].map((it) => `=${it.toString(16)}`).join("");
const percent = (text: string) => [...Buffer.from(text)].map((it) => `%${it.toString(16)}`).join("");
const text = (...parts: readonly string[]) => parts.map((it) => `=?UTF-8?B?${base64(it)}?=`).join(" ");

const CARD = "4111 1111 1111 1111";

const FORMS: Readonly<Record<string, string>> = {
  unencoded: CARD,
  "base64 word": text(CARD),
  "base64 word in lower case": `=?utf-8?b?${base64(CARD)}?=`,
  "base64 words in a row": text("4111 1", "111 1111", " 1111"),
  "base64 words without a space": `=?utf-8?B?${base64("4111 1111 ")}?==?utf-8?B?${base64("1111 1111")}?=`,
  "a word without padding": `=?utf-8?B?${base64(CARD).replace(/=+$/, "")}?=`,
  "quoted word": `=?utf-8?Q?${quoted(CARD)}?=`,
  "quoted word with underscores": "=?us-ascii?q?4111_1111_1111_1111?=",
  "words of both encodings": `=?utf-8?Q?4111_1111_?= =?utf-8?B?${base64("1111 1111")}?=`,
  "a word with a language": `=?utf-8*en?B?${base64(CARD)}?=`,
  "a word in UTF-16": `=?utf-16le?B?${base64(CARD, "utf16le")}?=`,
  "a word in Latin-1": `=?iso-8859-1?B?${base64(CARD)}?=`,
  "a word of an unknown character set": `=?x-none?B?${base64(CARD)}?=`,
  "a word among others": `see ${text(CARD)} please`,
  "a word inside quotes": `a; name="${text(CARD)}"`,
  "a word with percent escapes inside": text(percent(CARD)),
  "percent escapes with a word inside": percent(text(CARD)),
  "extended parameter": `attachment; filename*=UTF-8''${percent(CARD)}`,
  "extended parameter with a language": `attachment; filename*=iso-8859-1'en'${percent(CARD)}`,
  "parameter in parts": 'a; n*0="4111 1111"; n*1=" 1111 "; n*2="1111"',
  "parameter in parts, in another order": 'a; n*1="11 1111 1111"; n*0="4111 11"',
  "parameter in escaped parts": `a; n*0*=UTF-8''${percent("4111 1111")}; n*1*=${percent(" 1111 1111")}`,
  "escapes inside quotes": `a; n="${[...CARD].map((it) => `\\${it}`).join("")}"`,
};

for (const [name, value] of Object.entries(FORMS)) {
  test(`a header value is read in the form: ${name}`, () => {
    const texts = headerTexts(["X-Note", value]).map(({ text }) => text);
    assert.ok(
      texts.some((text) => text.includes(CARD)),
      JSON.stringify(texts),
    );
    assert.ok(texts.includes(value), "it is read as it came, too");
  });
}

test("non-ASCII characters are complete, even when split between two encoded words", () => {
  const bytes = Buffer.from("naïve €");
  const [one, two] = [bytes.subarray(0, 3), bytes.subarray(3)].map((it) => it.toString("base64"));
  const texts = headerTexts(["x", `=?utf-8?B?${one}?= =?utf-8?B?${two}?=`]).map(({ text }) => text);
  assert.ok(texts.includes("naïve €"), JSON.stringify(texts));
});

test("ordinary values have one reading", () => {
  for (const value of [
    "application/json",
    "*/*",
    "a=?b",
    'W/"abc"',
    'form-data; name="x"',
    "Mozilla/5.0 (X11; *)",
    "=?x?=",
  ]) {
    assert.deepEqual(
      headerTexts(["x", value]).map(({ text }) => text),
      [value],
    );
  }
});

test("long values that start many forms and end none take linear time", () => {
  const took = (size: number): number => {
    const began = process.cpuUsage().user;
    for (const part of ["=?", "=?u?b?", "=?u?b?a?=", "\\", ";a*0=", '"\\', "a*1*="])
      headerTexts(["x", part.repeat(size)]);
    return process.cpuUsage().user - began;
  };
  took(1_000);
  assert.ok(took(20_000) < 40 * Math.max(20_000, took(2_000)));
});
