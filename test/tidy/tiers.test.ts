/**
 * Every test file has one tier (test/runner/tiers.mjs), and those of `npm test` need nothing beyond its installation.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { PEERS } from "../peers/table.ts";
import { TIERS, tierOf } from "../runner/tiers.mjs";
import { filesUnder, read } from "./source.ts";

const tests = filesUnder("test")
  .filter((path) => /\.test\.tsx?$/.test(path) && !/^test\/(?:bench|data)\//.test(path))
  .map((path) => ({ path, text: read(path) }));

test("every test file has a tier by its folder or by its first line", () => {
  const without = tests.filter(({ path, text }) => tierOf(path, text) === undefined).map(({ path }) => path);
  assert.deepEqual(without, [], `give each a folder of test/runner/tiers.mjs or a first line "// tier: test"`);
});

test("a line that names a tier is the first of its file, and names one that exists", () => {
  const misplaced = tests.filter(({ text }) => {
    const lines = text.split("\n");
    const named = lines.flatMap((line, index) => (line.startsWith("// tier:") ? [index] : []));
    const isPlain = named.length === 0 || (named.length === 1 && named[0] === 0);
    return !isPlain || (named[0] === 0 && !TIERS.includes((lines[0] ?? "").replace(/^\/\/ tier: /, "")));
  });
  assert.deepEqual(
    misplaced.map(({ path }) => path),
    [],
  );
});

/** Peers that come neither from npm nor from Debian. */
const OF_PYPI = Object.entries(PEERS)
  .filter(([, { steps }]) => steps.some((step) => step.includes("pip")))
  .map(([name]) => name);

test("a file that names a peer from PyPI or another Node.js version is run by npm run test:long", () => {
  assert.ok(OF_PYPI.includes("envoy") && OF_PYPI.includes("python-sdks"), OF_PYPI.join(" "));
  const named = new RegExp(`\\bpeer\\("(?:${[...OF_PYPI, "node-\\d+"].join("|")})"\\)`);
  const early = tests.filter(({ path, text }) => named.test(text) && tierOf(path, text) !== "long");
  assert.deepEqual(
    early.map(({ path }) => path),
    [],
  );
});

test("a file of npm test installs no peer", () => {
  const installing = tests.filter(({ path, text }) => /\bpeer\("/.test(text) && tierOf(path, text) === "test");
  assert.deepEqual(
    installing.map(({ path }) => path),
    [],
  );
});

test("a file of an unknown folder has no tier", () => {
  assert.equal(tierOf("test/unknown/some.test.ts", "/** Some. */\n"), undefined);
  assert.equal(tierOf("test/unknown/some.test.ts", "// tier: all\n/** Some. */\n"), "all");
  assert.equal(tierOf("test/e2e/some.test.ts", "// tier: never\n"), undefined);
  assert.equal(tierOf("test/e2e/versions/some.test.ts", "/** Some. */\n"), "long");
});
