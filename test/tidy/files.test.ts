/** Rules for single files: name, length, and forbidden contents. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { filesUnder, read, sourceFile } from "./source.ts";

const MAX_LINES = 400;

const files = filesUnder("");
const code = files.filter((path) => /^(?:src|test|bin)\/.*\.(?:tsx?|mjs|cjs)$/.test(path));
const typed = code.filter((path) => /\.tsx?$/.test(path)).map((path) => sourceFile(path));
/** Texts that people read; not recorded data, pictures or the lock file. */
const prose = files.filter(
  (path) =>
    code.includes(path) ||
    (/\.(?:md|json|ya?ml|proto|txt)$|^\.ci\/|^bin\/|^\.npmrc$/.test(path) && !path.startsWith("test/data/")),
);

/** Lines of `paths` that match, as `path:line`. */
function linesWith(pattern: RegExp, paths: readonly string[]): readonly string[] {
  return paths.flatMap((path) =>
    read(path)
      .split("\n")
      .flatMap((line, index) => (pattern.test(line) ? [`${path}:${index + 1}`] : [])),
  );
}

test("there are files to check", () => {
  assert.ok(typed.length >= 20, `${typed.length} modules`);
  assert.ok(prose.includes("package.json"));
});

test("no module is longer than the limit", () => {
  const long = code
    .map((path) => ({ path, lines: read(path).trimEnd().split("\n").length }))
    .filter(({ lines }) => lines > MAX_LINES)
    .map(({ path, lines }) => `${path} has ${lines} lines`);
  assert.deepEqual(long, []);
});

test("files and folders of code are named in kebab case", () => {
  const kebab = /^[a-z0-9]+(?:-[a-z0-9]+)*(?:\.[a-z0-9]+)*$/;
  assert.deepEqual(
    code.filter((path) => !path.split("/").every((part) => kebab.test(part))),
    [],
  );
});

test("the type checker and the linter are never suppressed", () => {
  // Split so that this file does not contain what it looks for.
  const pragma = new RegExp(
    ["@ts-" + "(?:ignore|expect-error|nocheck)", "biome" + "-ignore", "eslint" + "-disable"].join("|"),
  );
  assert.deepEqual(linesWith(pragma, code), []);
});

test("no code uses the type `any`", () => {
  const any = /[:<|&,(]\s*any\s*(?=[[\]>;,)=|&{\n])|\bas\s+any\b/;
  assert.deepEqual(
    typed.filter(({ code: text }) => any.test(text)).map(({ path }) => path),
    [],
  );
});

test("no file contains a to-do note", () => {
  const later = new RegExp(`\\b(?:${["TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK"].join("|")})\\b`);
  assert.deepEqual(linesWith(later, prose), []);
});

test("no file contains a path of a developer's machine", () => {
  const path = new RegExp(
    `(?<![\\w.~-])/(?:${["wo" + "rk/(?:main|shared)", "ho" + "me/\\w", "Us" + "ers/\\w", "ro" + "ot/"].join("|")})`,
  );
  assert.deepEqual(linesWith(path, prose), []);
});

test("the lock file names no host other than the public registry", () => {
  const { packages } = JSON.parse(read("package-lock.json")) as {
    readonly packages: Readonly<Record<string, { readonly resolved?: string; readonly link?: boolean }>>;
  };
  // A link leads to a folder of the source.
  const hosts = Object.values(packages).flatMap(({ resolved, link }) => (resolved && !link ? [resolved] : []));
  const registry = "https://registry." + "npmjs.org/";
  assert.deepEqual(
    hosts.filter((url) => !url.startsWith(registry)),
    [],
  );
});

test("the process is ended in one place", () => {
  // Signal 0 ends nothing: it checks whether the process exists.
  const exit = /(?<![\w$.])process\.(?:exit|abort|kill|reallyExit)\b(?!\(\w+, 0\))/;
  const places = typed.filter(({ path, code: text }) => path.startsWith("src/") && exit.test(text));
  assert.deepEqual(
    places.map(({ path }) => path),
    // The console ends the process group of a program that it started, stops itself for the shell (SIGSTOP) and
    // continues. Its helper processes end with it, even in the middle of long work. A data plane worker is a program of
    // its own, and so is a model process, which cannot notice the end of its node while it runs a graph.
    [
      "src/cli/console-command.ts",
      "src/cli/console-trials/child.ts",
      "src/cli/main.ts",
      "src/console/open.ts",
      "src/server/detectors/inference/session/child.ts",
      "src/server/node/worker/program.ts",
    ],
  );
});

test("signals are combined where their sources are retained, since Node 20 otherwise loses timeouts", () => {
  const modules = files.filter((path) => /^src\/.*\.tsx?$/.test(path) && path !== "src/base/any-signal.ts");
  assert.deepEqual(linesWith(/AbortSignal\.any\(/, modules), [], "call anySignal of src/base");
});
