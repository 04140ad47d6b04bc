import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { textOfLine } from "../../../src/console/model/text.ts";
import { differencePage, MAX_LINES } from "../../../src/console/pages/difference.ts";
import { differenceOf, linesOf, type Operation } from "../../../src/console/pages/line-difference.ts";

const NAMES = { from: "default, revision 3", to: "default, revision 4" };

const page = (from: string, to: string): readonly string[] => differencePage(from, to, NAMES).map(textOfLine);

/** Returns the result of `patch` on `from` with the page, by its hunk numbers alone; each line is terminated. */
function patched(from: string, lines: readonly string[]): string {
  const source = linesOf(from);
  const result: string[] = [];
  let at = 0;
  for (const line of lines.slice(4)) {
    const head = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@$/.exec(line);
    if (head !== null) {
      const start = Number(head[1]) - (head[2] === "0" ? 0 : 1);
      result.push(...source.slice(at, start));
      at = start;
      assert.equal(result.length, Number(head[3]) - (head[4] === "0" ? 0 : 1), line);
    } else if (line.startsWith(" ")) {
      assert.equal(source[at]?.replace("\n", ""), line.slice(1));
      result.push(source[at] ?? "");
      at += 1;
    } else if (line.startsWith("-")) {
      assert.equal(source[at]?.replace("\n", ""), line.slice(1));
      at += 1;
    } else {
      result.push(`${line.slice(1)}\n`);
    }
  }
  return [...result, ...source.slice(at)].join("");
}

/** Few different lines, so that they repeat. */
const document = fc
  .array(fc.constantFrom("a", "b", "c", "- d", "+ e", "", "  f: 1"), { maxLength: 40 })
  .map((lines) => lines.map((line) => `${line}\n`).join(""));

test("a difference keeps and removes the first text, and keeps and adds the second", () => {
  const line = fc.constantFrom("a\n", "b\n", "c\n", "d", "\n");
  fc.assert(
    fc.property(fc.array(line, { maxLength: 60 }), fc.array(line, { maxLength: 60 }), (from, to) => {
      const operations = differenceOf(from, to);
      const first = operations.flatMap((it) => (it.kind === "add" ? [] : [it.from]));
      const second = operations.flatMap((it) => (it.kind === "remove" ? [] : [it.to]));
      assert.deepEqual(first, [...from.keys()]);
      assert.deepEqual(second, [...to.keys()]);
      for (const it of operations) if (it.kind === "keep") assert.equal(from[it.from], to[it.to]);
    }),
    { numRuns: 2_000 },
  );
});

test("applying the page to the first document gives the second", () => {
  fc.assert(
    fc.property(document, document, (from, to) => {
      if (from !== to) assert.equal(patched(from, page(from, to)), to);
    }),
    { numRuns: 2_000 },
  );
});

test("without anchors no shorter difference exists", () => {
  const line = fc.constantFrom("a\n", "b\n");
  const twice = fc.array(line, { minLength: 4, maxLength: 14 }).filter((lines) => new Set(lines).size === 2);
  fc.assert(
    fc.property(twice, twice, (from, to) => {
      const isOnce = (lines: readonly string[], of: string) => lines.filter((it) => it === of).length === 1;
      fc.pre(!["a\n", "b\n"].some((of) => isOnce(from, of) && isOnce(to, of)));
      const changes = differenceOf(from, to).filter(({ kind }) => kind !== "keep").length;
      assert.equal(changes, from.length + to.length - 2 * commonLength(from, to));
    }),
    { numRuns: 1_000 },
  );
});

/** Length of a longest common subsequence, by its recurrence. */
function commonLength(from: readonly string[], to: readonly string[]): number {
  let row = new Array<number>(to.length + 1).fill(0);
  for (const line of from) {
    const next = [0];
    for (const [at, other] of to.entries()) {
      next.push(line === other ? (row[at] ?? 0) + 1 : Math.max(row[at + 1] ?? 0, next[at] ?? 0));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}

test("a change has three lines of context, and distant changes are separate hunks", () => {
  const from = Array.from({ length: 30 }, (_, at) => `line ${at + 1}\n`);
  const to = from.toSpliced(4, 1, "line five\n").toSpliced(24, 0, "between\n");
  assert.deepEqual(page(from.join(""), to.join("")), [
    "2 lines added, 1 line removed",
    "",
    "--- default, revision 3",
    "+++ default, revision 4",
    "@@ -2,7 +2,7 @@",
    " line 2",
    " line 3",
    " line 4",
    "-line 5",
    "+line five",
    " line 6",
    " line 7",
    " line 8",
    "@@ -22,6 +22,7 @@",
    " line 22",
    " line 23",
    " line 24",
    "+between",
    " line 25",
    " line 26",
    " line 27",
  ]);
});

test("changes with touching contexts are one hunk", () => {
  const from = Array.from({ length: 20 }, (_, at) => `line ${at + 1}\n`);
  const near = from.toSpliced(4, 1, "x\n").toSpliced(11, 1, "y\n");
  const far = from.toSpliced(4, 1, "x\n").toSpliced(12, 1, "y\n");
  const heads = (to: readonly string[]) => page(from.join(""), to.join("")).filter((line) => line.startsWith("@@"));
  assert.deepEqual(heads(near), ["@@ -2,14 +2,14 @@"]);
  assert.deepEqual(heads(far), ["@@ -2,7 +2,7 @@", "@@ -10,7 +10,7 @@"]);
});

test("an added or removed document is numbered as in diff", () => {
  assert.equal(page("", "a\nb\n")[4], "@@ -0,0 +1,2 @@");
  assert.equal(page("a\n", "")[4], "@@ -1 +0,0 @@");
});

test("a missing newline at the end is a difference and is marked", () => {
  assert.deepEqual(page("a\nb", "a\nb\n").slice(4), [
    "@@ -1,2 +1,2 @@",
    " a",
    "-b",
    "\\ No newline at end of file",
    "+b",
  ]);
});

test("an unchanged document is reported as such", () => {
  assert.deepEqual(page("a\n", "a\n"), ["default, revision 3 and default, revision 4 are the same, byte for byte."]);
});

test("controls of a document do not reach the screen", () => {
  const lines = page("a\u001b[2J\r\n", "b\u202e\n").slice(5);
  assert.deepEqual(lines, ["-a\\u001b[2J\\r", "+b\\u202e"]);
});

test("a line of megabytes is truncated with the omitted size", () => {
  const [removed] = page(`${"x".repeat(1_000_000)}\n`, "y\n").slice(5);
  assert.equal(removed, `-${"x".repeat(2_000)} (998,000 characters more)`);
});

test("documents with too many lines to compare are reported as such", () => {
  assert.deepEqual(page("a\n".repeat(MAX_LINES + 1), "b\n"), [
    "Too long to compare here: 20,001 lines, at most 20,000.",
    "Save both and compare them with `diff -u`.",
  ]);
});

test("two documents of maximum length without a common line are shown as replaced", () => {
  const from = Array.from({ length: MAX_LINES }, (_, at) => `a${at % 7}\n`);
  const to = Array.from({ length: MAX_LINES }, (_, at) => `b${at % 7}\n`);
  const operations = differenceOf(from, to);
  const kinds = (kind: Operation["kind"]): number => operations.filter((it) => it.kind === kind).length;
  assert.deepEqual([kinds("remove"), kinds("add"), kinds("keep")], [MAX_LINES, MAX_LINES, 0]);
});
