/** Imports between the console's folders, and the rule that only its edges know how things are drawn. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { filesUnder, sourceFile } from "./source.ts";
import { CONSOLE_MAY_IMPORT, PURE_FOLDERS } from "./table.ts";

const CONSOLE = "src/console/";

const sources = filesUnder("src/console")
  .filter((path) => /\.tsx?$/.test(path))
  .map((path) => sourceFile(path));

/** `undefined` for files in the console's top folder or outside of it. */
const folderOf = (path: string): string | undefined =>
  path.startsWith(CONSOLE) ? /^([^/]+)\//.exec(path.slice(CONSOLE.length))?.[1] : undefined;

const isOf = (path: string, folders: readonly string[]): boolean =>
  folders.some((folder) => path.startsWith(`${folder}/`));

test("every folder of the console is in the table and has files", () => {
  const folders = new Set(sources.flatMap(({ path }) => folderOf(path) ?? []));
  assert.deepEqual([...folders].sort(), Object.keys(CONSOLE_MAY_IMPORT).sort());
});

test("a folder of the console imports only those that the table gives it", () => {
  const breaches = sources.flatMap(({ path, imports }) => {
    const from = folderOf(path);
    if (from === undefined) return [];
    return imports.flatMap(({ target = "" }) => {
      const to = folderOf(target);
      const isGiven = to === undefined || to === from || CONSOLE_MAY_IMPORT[from]?.includes(to) === true;
      return isGiven ? [] : [`${path} imports ${target}`];
    });
  });
  assert.deepEqual(breaches, []);
});

test("the console's table has no cycle", () => {
  const done = new Set<string>();
  const folders = Object.entries(CONSOLE_MAY_IMPORT);
  for (const _ of folders) {
    for (const [folder, below] of folders) if (below.every((each) => done.has(each))) done.add(folder);
  }
  assert.deepEqual(
    folders.map(([folder]) => folder).filter((folder) => !done.has(folder)),
    [],
  );
});

test("the composition root of the console is imported only through its index", () => {
  const importers = sources.filter(({ imports }) => imports.some(({ target }) => target === `${CONSOLE}open.ts`));
  assert.deepEqual(
    importers.map(({ path }) => path),
    [`${CONSOLE}index.ts`],
  );
});

test("the pure folders of the console import no package, and none of Node's modules", () => {
  const breaches = sources
    .filter(({ path }) => isOf(path, PURE_FOLDERS))
    .flatMap(({ path, imports }) =>
      imports.flatMap(({ target, specifier }) => (target === undefined ? [`${path} imports ${specifier}`] : [])),
    );
  assert.deepEqual(breaches, []);
});

test("only the parts of the screen import React and Ink", () => {
  const users = sources.filter(({ imports }) => imports.some(({ specifier }) => /^(?:react|ink)\b/.test(specifier)));
  assert.ok(users.length > 0);
  assert.deepEqual(
    users.map(({ path }) => path).filter((path) => folderOf(path) !== "parts"),
    [],
  );
});
