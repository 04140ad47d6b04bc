/** The filter language, and patterns refused for their cost. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { filterOf } from "../../../src/console/store/filter.ts";
import { cpuMs } from "../../support/cpu-time.ts";

const CASES: readonly (readonly [filter: string, subject: string, isFound: boolean])[] = [
  ["acme", "ACME-chat failing", true],
  ["acme", "pool-eu ok", false],
  ["!acme", "pool-eu ok", true],
  ["!acme", "acme-alt", false],
  ["/^acme-(chat|alt)/", "Acme-Alt ok", true],
  ["/^acme$/", "acme-alt", false],
  ["!/ok$/", "acme failing", true],
  ["/mcp", "served at /mcp/files", true],
  ["a.c", "abc", false],
  ["/a.c/", "abc", true],
  ["/.*chat/", "acme-chat", true],
  ["/.*|x/", "acme-chat", true],
  ["/.+acme/", "acme-chat", false],
  ["/prod-.*-eu-.*search/", "prod-1-eu-2-search", true],
  ["/\\w+-\\d+/", "node-12", true],
  ["/(?:ab){2}/", "xababx", true],
  ["/colou?r/", "color", true],
  ["/(foo)?bar/", "bar", true],
  ["/a{2,3}/", "caab", true],
  ["//", "a // b", true],
];

for (const [filter, subject, isFound] of CASES) {
  test(`${filter} ${isFound ? "finds" : "does not find"} ${subject}`, () => {
    const parsed = filterOf(filter);
    assert.ok(parsed.kind === "match");
    assert.equal(parsed.test(subject), isFound);
  });
}

for (const empty of ["", "!"]) {
  test(`${JSON.stringify(empty)} is not a filter`, () => assert.equal(filterOf(empty).kind, "none"));
}

const REFUSED = [
  ["a pattern that does not compile", "/(/"],
  ["a bracket left open", "/[a/"],
  ["repetition in a repetition", "/(a+)+$/"],
  ["repetition in a repetition, deeper", "/((ab*))*c/"],
  ["a choice that repeats", "/(a|a)*b/"],
  ["a counted repetition of one", "/(a*){9}/"],
  ["an optional that repeats", "/(a?)+b/"],
  ["the same repeated twice in a row", "/a*a*b/"],
  ["anything repeated twice in a row", "/x.*.*y/"],
  ["the same with an optional between", "/x.*z?.*y/"],
  ["the same over a group", "/x(.*)(.*)y/"],
  ["more repetitions than it may have", "/a+b+c+d/"],
  ["a large count next to them", "/a+b+c{1,999}d/"],
  ["many optional ones", `/${"a?".repeat(30)}${"a".repeat(30)}/`],
  ["many choices", `/${"(a|a)".repeat(30)}b/`],
  ["large counts", "/(.{999}){999}/"],
  ["counted counts", "/.{999}.{999}.{999}/"],
  ["a reference back", "/(a)\\1/"],
  ["a look ahead", "/(?=a*)b/"],
  ["a lookbehind", "/(?<!a)b/"],
  ["a long pattern", `/${"a".repeat(201)}/`],
] as const;

for (const [what, filter] of REFUSED) {
  test(`${what} is refused: ${filter.slice(0, 20)}`, () => assert.equal(filterOf(filter).kind, "wrong"));
}

test("a pattern searches a limited part of a row, and a text all of it", () => {
  const row = `${"-".repeat(400)}acme`;
  const isFound = (filter: string): boolean => {
    const parsed = filterOf(filter);
    return parsed.kind === "match" && parsed.test(row);
  };
  assert.deepEqual(["acme", "/ac.e/", "/ac.*e/", "/a.*m.*e/"].map(isFound), [true, true, true, false]);
});

test("an accepted pattern is fast on the worst texts", () => {
  for (const filter of [
    "/a.*b.*c/",
    "/\\w+-x/",
    "/.*ab.*c$/",
    "/(a{1,50}b)?c+$/",
    "/[ab]{1,50}[ab]{1,50}c/",
    "/(a|b)(a|b)(a|b)?x/",
  ]) {
    const parsed = filterOf(filter);
    assert.ok(parsed.kind === "match", filter);
    const began = cpuMs();
    for (let row = 0; row < 20; row += 1) parsed.test("ab".repeat(40_000));
    // A pattern with unbounded backtracking takes hours.
    assert.ok(cpuMs() - began < 15_000, filter);
  }
});
