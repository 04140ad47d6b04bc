import assert from "node:assert/strict";
import { test } from "node:test";
import { formatPath, formatProblem, shown } from "../../../../src/server/core/config/problem.ts";

test("a problem is one line: file, line, column, path, message", () => {
  const problem = {
    severity: "error",
    file: "a.yaml",
    line: 3,
    column: 7,
    path: "providers[0].pool",
    message: "is odd",
  } as const;
  assert.equal(formatProblem(problem), "a.yaml:3:7: providers[0].pool: is odd");
  assert.equal(formatProblem({ ...problem, severity: "warning", path: "" }), "a.yaml:3:7: warning: is odd");
});

test("a path distinguishes items and keys", () => {
  assert.equal(formatPath(["a", 0, "b-c", "1", "x y", "ключ"]), 'a[0].b-c["1"]["x y"]["ключ"]');
  assert.equal(formatPath([]), "");
});

test("a text is shown on one line, truncated, and without the user part of a URL", () => {
  assert.equal(shown('a"\n\u0007'), '"a\\"\\n\\u0007"');
  assert.equal(shown("x".repeat(100)), `"${"x".repeat(80)}…"`);
  assert.equal(shown("https://me:pw@host"), "a URL with a user in it");
});
