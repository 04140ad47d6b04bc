/** Expressions of others in `pure` mode: the matches of a backtracking engine, in linear time whatever they are. */

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

/** The last is longer than what is kept at once, and before and behind it nothing matters to most expressions. */
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

test("the matches are those of a backtracking engine", () => {
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

test("a loop that may be empty ends", () => {
  assert.deepEqual(placesOf("(?:a*)*c?", "aac b"), [[0, 3]]);
  assert.deepEqual(placesOf("(?:a|b*)*$", "xab"), [[1, 3]]);
});

test("an expression that reads ahead of its matches takes about twice the time for twice the text", () => {
  const rows: readonly (readonly [regex: string, unit: string])[] = [
    ["a(?:.*b)?", "a"],
    ["(?:x+x+)+y|x", "x"],
    ["\\d(?:.*x)?", "1"],
    ["(?:.{0,200}\\n)?k", "k"],
  ];
  for (const [regex, unit] of rows) {
    const search = linearSearch(regex, true);
    const best = (length: number) => {
      const text = unit.repeat(length);
      let least = Number.POSITIVE_INFINITY;
      for (let each = 0; each < 5; each++) {
        // Of this process: what others do on the machine is none of it.
        const before = process.cpuUsage();
        search(text, () => {});
        least = Math.min(least, process.cpuUsage(before).user / 1e3);
      }
      return least;
    };
    best(20_000);
    const [one, two] = [best(50_000), best(100_000)];
    // Four times as long would be quadratic; two milliseconds beside, for the collector.
    assert.ok(two <= 3 * one + 2, `${regex}: ${one.toFixed(1)} ms, then ${two.toFixed(1)} ms`);
  }
});
