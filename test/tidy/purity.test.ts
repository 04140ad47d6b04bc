/** Files in pure folders are functions of their arguments: no clock, randomness, I/O, environment, logger or screen. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { filesUnder, sourceFile } from "./source.ts";
import { IMPURE_NAMES, PURE_FOLDERS, PURE_NODE_MODULES } from "./table.ts";

/** Patterns forbidden in pure code, with what they would bring in. */
const IMPURE: readonly (readonly [what: string, pattern: RegExp])[] = [
  ["the clock", /\bDate\.now\b|\bnew Date\(\s*\)|(?<![\w$.])performance\b/],
  ["randomness", /\bMath\.random\b|\brandom(?:Bytes|UUID|Int|Fill)\b|\bgetRandomValues\b/],
  ["a timer", /(?<![\w$.])(?:setTimeout|setInterval|setImmediate|queueMicrotask)\b/],
  ["the process", /(?<![\w$.])process\s*[.[]/],
  ["the log", /(?<![\w$.])console\s*\./],
  ["the network", /(?<![\w$.])fetch\s*\(/],
  ["a global", /(?<![\w$.])globalThis\b/],
];

const sources = PURE_FOLDERS.flatMap((folder) => filesUnder(folder))
  .filter((path) => /\.tsx?$/.test(path))
  .map((path) => sourceFile(path));

function impurities(code: string): readonly string[] {
  return IMPURE.filter(([, pattern]) => pattern.test(code)).map(([what]) => what);
}

test("there are pure modules to check", () => {
  for (const folder of PURE_FOLDERS) {
    assert.ok(
      sources.some(({ path }) => path.startsWith(`${folder}/`)),
      folder,
    );
  }
});

test("each impurity is detected, and prose about it is not", () => {
  const text = (code: string) => impurities(sourceFile("src/server/core/x.ts", code).code);
  assert.deepEqual(text("const at = Date.now();"), ["the clock"]);
  assert.deepEqual(text("const at = new Date();"), ["the clock"]);
  assert.deepEqual(text("const x = Math.random();"), ["randomness"]);
  assert.deepEqual(text("setTimeout(run, 1);"), ["a timer"]);
  assert.deepEqual(text("process.env.HOME; console.log(1);"), ["the process", "the log"]);
  assert.deepEqual(text("// Date.now()\nconst s = 'process.env'; const d = new Date(ms); a.process.x();"), []);
});

test("pure code reads no clock, randomness, environment or network, and does not log", () => {
  const breaches = sources.flatMap(({ path, code }) => impurities(code).map((what) => `${path} uses ${what}`));
  assert.deepEqual(breaches, []);
});

test("pure code imports no I/O module of Node", () => {
  const breaches = sources.flatMap(({ path, imports }) =>
    imports
      .filter(({ specifier }) => specifier.startsWith("node:"))
      .filter(({ specifier }) => !PURE_NODE_MODULES.includes(specifier.slice("node:".length)))
      .map(({ specifier }) => `${path} imports ${specifier}`),
  );
  assert.deepEqual(breaches, []);
});

test("pure code gets no clock and no client from the units it may import", () => {
  const breaches = sources.flatMap(({ path, imports }) =>
    imports
      .filter(({ kind }) => kind !== "type")
      .flatMap(({ names }) => names.filter((name) => IMPURE_NAMES.includes(name)))
      .map((name) => `${path} imports ${name}`),
  );
  assert.deepEqual(breaches, []);
});
