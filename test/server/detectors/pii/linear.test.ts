/** User-defined patterns in `pure` mode: the matches of a backtracking engine, in linear time for any pattern. */

import assert from "node:assert/strict";
import test from "node:test";
import { linearSearch } from "../../../../src/server/detectors/pii/linear.ts";

type Places = readonly (readonly [start: number, end: number])[];

function placesOf(regex: string, text: string): Places {
  const found: [number, number][] = [];
  linearSearch(regex, true)(text, (start, end) => found.push([start, end]));
  return found;
}

function byV8(regex: string, text: string): Places {
  const expression = new RegExp(regex, "gmsu");
  return [...text.matchAll(expression)].flatMap(
    (match): Places => (match[0] === "" ? [] : [[match.index, match.index + match[0].length]]),
  );
}

const EXPRESSIONS = [
  ...[
    "a(?:.*b)?",
    "a(?:.*?b)?",
    "(?:a|ab)(?:c|bcd)?",
    "a{2,4}?b*",
    "[^a-c\\s]{3}|\\bk\\b",
    "x*|\\D1",
    "^badge.\\d{3}\\b",
  ],
  ...[
    "\\p{L}{2,5}\\s\\w+$",
    "[ab]*?(?:c|$)",
    "(?:a+a+)+b|a",
    "😀+a?",
    "(?:😀|.)b",
    "[ab]+c",
    "\\w+-\\d+",
    "b|$",
    "\\Bb",
  ],
];

/** The last is longer than the buffer, and its surroundings do not matter to most patterns. */
const PARTS = [
  "a",
  "b",
  "c",
  "ab",
  "abcd",
  "badge 123",
  "k",
  "x1",
  "EMP-12",
  "😀",
  "é",
  "\ud83d",
  " ",
  "\n",
  "z".repeat(1500),
];

test("the matches equal those of a backtracking engine", () => {
  const seed = Number(process.env["GATEWAY_SEED"] ?? 7_001);
  let state = seed;
  const next = (below: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  let found = 0;
  for (const regex of EXPRESSIONS) {
    for (let each = 0; each < 400; each++) {
      const text = Array.from({ length: next(each % 50 === 0 ? 400 : 14) }, () => PARTS[next(PARTS.length)]!).join("");
      const places = placesOf(regex, text);
      assert.deepEqual(places, byV8(regex, text), `${regex} on ${JSON.stringify(text.slice(0, 200))}, seed ${seed}`);
      found += places.length;
    }
  }
  assert.ok(found > 20_000, `${found}`);
});

test("a loop over an empty match ends", () => {
  assert.deepEqual(placesOf("(?:a*)*c?", "aac b"), [[0, 3]]);
  assert.deepEqual(placesOf("(?:a|b*)*$", "xab"), [[1, 3]]);
});

test("a pattern that reads ahead of its matches reads a text once", () => {
  const rows: readonly (readonly [regex: string, unit: string])[] = [
    ["a(?:.*b)?", "a"],
    ["(?:x+x+)+y|x", "x"],
    ["\\d(?:.*x)?", "1"],
    ["(?:.{0,200}\\n)?k", "k"],
  ];
  for (const [regex, unit] of rows) {
    const text = unit.repeat(100_000);
    const before = process.cpuUsage();
    const places = placesOf(regex, text);
    const took = process.cpuUsage(before).user / 1e3;
    assert.equal(places.length, 100_000);
    // Some hundred milliseconds; ten minutes if the rest were read again at each match.
    assert.ok(took < 5_000, `${regex}: ${took.toFixed(0)} ms`);
  }
});
