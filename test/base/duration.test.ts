/** Durations compared with the examples of Go's own test of `time.ParseDuration`, and with each other. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { formatDuration, parseDuration } from "../../src/base/duration.ts";

const ACCEPTED: readonly (readonly [text: string, ms: number])[] = [
  ["0", 0],
  ["-0", 0],
  ["0s", 0],
  ["5s", 5_000],
  ["30s", 30_000],
  ["1478s", 1_478_000],
  ["-5s", -5_000],
  ["+5s", 5_000],
  ["5.0s", 5_000],
  ["5.6s", 5_600],
  ["5.s", 5_000],
  [".5s", 500],
  ["1.004s", 1_004],
  ["1.0040s", 1_004],
  ["100.00100s", 100_001],
  ["0.1s", 100],
  ["10ns", 0.00001],
  ["11us", 0.011],
  ["12\u00b5s", 0.012],
  ["12\u03bcs", 0.012],
  ["13ms", 13],
  ["14s", 14_000],
  ["15m", 900_000],
  ["16h", 57_600_000],
  ["3h30m", 12_600_000],
  ["10.5s4m", 250_500],
  ["-2m3.4s", -123_400],
  ["1h2m3s4ms5us6ns", 3_723_004.005006],
  ["39h9m14.425s", 140_954_425],
  ["2160h", 7_776_000_000],
  ["0.3333333333333333333h", 1_200_000 - 0.000001],
  ["2562047h47m16.854775807s", 9_223_372_036_854.775],
];

for (const [text, ms] of ACCEPTED) {
  test(`${JSON.stringify(text)} is ${ms} ms`, () => assert.equal(parseDuration(text), ms));
}

const REFUSED = [
  ["an empty text", ""],
  ["a number without a unit", "3"],
  ["a sign alone", "-"],
  ["a sign before nothing but a unit", "-s"],
  ["a unit alone", "s"],
  ["a point alone", "."],
  ["a point with a unit and no digit", ".s"],
  ["two signs", "+-5s"],
  ["a sign in the middle", "3h-5m"],
  ["a unit unknown to Go", "1d"],
  ["a unit in capitals", "1H"],
  ["a space before", " 1s"],
  ["a space in the middle", "1 s"],
  ["a newline after", "1s\n"],
  ["an exponent", "1e3s"],
  ["a trailing number", "1h30"],
  ["digits of another script", "\u0663s"],
  ["a name of Object's prototype", "1constructor"],
  ["more than 292 years", "2562047h47m16.854775808s"],
  ["a text longer than the limit", `${"0".repeat(200)}1s`],
] as const;

for (const [what, text] of REFUSED) {
  test(`${what} is not a duration`, () => assert.equal(parseDuration(text), undefined));
}

const WRITTEN: readonly (readonly [ms: number, text: string])[] = [
  [0, "0s"],
  [-0, "0s"],
  [0.000001, "1ns"],
  [0.0015, "1.5µs"],
  [0.25, "250µs"],
  [1.5, "1.5ms"],
  [250, "250ms"],
  [1_000, "1s"],
  [2_500, "2.5s"],
  [90_000, "1m30s"],
  [3_600_000, "1h"],
  [5_400_000, "1h30m"],
  [3_600_001, "1h0.001s"],
  [-1_500, "-1.5s"],
  [7_776_000_000, "2160h"],
];

for (const [ms, text] of WRITTEN) {
  test(`${ms} ms is formatted as ${text}`, () => assert.equal(formatDuration(ms), text));
}

test("a value that is not finite cannot be formatted", () => {
  for (const ms of [Number.NaN, Number.POSITIVE_INFINITY]) assert.throws(() => formatDuration(ms), RangeError);
});

test("every whole number of milliseconds survives a round trip", () => {
  fc.assert(
    fc.property(fc.integer({ min: -9_000_000_000_000, max: 9_000_000_000_000 }), (ms) => {
      assert.equal(parseDuration(formatDuration(ms)), ms === 0 ? 0 : ms);
    }),
  );
});

test("no text makes the parser throw, and parsed values are within the range", () => {
  const piece = fc.constantFrom("0", "7", "99", ".", "-", "+", "h", "m", "s", "ms", "us", "ns", "µs", "x", " ");
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
      const ms = parseDuration(pieces.join(""));
      assert.ok(ms === undefined || Math.abs(ms) <= 2 ** 63 / 1e6);
    }),
  );
});
