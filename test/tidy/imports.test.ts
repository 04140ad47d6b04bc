/** The architecture's import table, checked for every file under src/. */

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { posix } from "node:path";
import { test } from "node:test";
import { filesUnder, type Import, read, type SourceFile, sourceFile, unitOf } from "./source.ts";
import { LAZY_ONLY, MAY_IMPORT, TYPES_ONLY } from "./table.ts";

const sources = filesUnder("src")
  .filter((path) => /\.tsx?$/.test(path))
  .map((path) => sourceFile(path));

interface Edge {
  readonly from: SourceFile;
  readonly to: string;
  readonly via: Import;
}

const edges: readonly Edge[] = sources.flatMap((from) =>
  from.imports.flatMap((via) => (via.target === undefined ? [] : [{ from, to: via.target, via }])),
);

/** Imports from another unit. */
const crossings = edges.flatMap((edge) => {
  const from = unitOf(edge.from.path);
  const to = unitOf(edge.to);
  return from === undefined || to === undefined || from === to ? [] : [{ ...edge, units: { from, to } }];
});

test("there are modules and imports to check", () => {
  assert.ok(sources.length >= 10, `${sources.length} modules`);
  assert.ok(edges.length >= 10, `${edges.length} imports`);
});

test("the import scanner finds every form of import", () => {
  const text = `
import { a, type B } from "./one.ts";
import type { C } from "../two/index.ts";
export * from "./three.ts";
import {
  type D,
  type E as F,
} from "./four.ts";
import "./five.ts";
// import { no } from "./comment.ts";
const lazy = () => import("./six.ts");
let typed: import("./seven.ts").Seven;
import fs from "node:fs";
`;
  assert.deepEqual(
    sourceFile("src/base/x.ts", text).imports.map(({ target, kind, names }) => [target, kind, ...names]),
    [
      ["src/base/one.ts", "value", "a", "B"],
      ["src/two/index.ts", "type", "C"],
      ["src/base/three.ts", "value"],
      ["src/base/four.ts", "type", "D", "E"],
      ["src/base/five.ts", "value"],
      [undefined, "value"],
      ["src/base/six.ts", "lazy"],
      ["src/base/seven.ts", "type"],
    ],
  );
});

test("every module is in a folder of the table", () => {
  const strays = sources.filter(({ path }) => unitOf(path) === undefined).map(({ path }) => path);
  assert.deepEqual(strays, []);
});

test("every relative import names a file, with its extension", () => {
  const missing = edges.filter(({ to }) => !existsSync(to)).map(({ from, to }) => `${from.path} imports ${to}`);
  assert.deepEqual(missing, []);
});

test("a folder imports only what the table allows", () => {
  const breaches = crossings
    .filter(({ units }) => units.to !== "base" && !MAY_IMPORT[units.from]?.includes(units.to))
    .map(({ from, to }) => `${from.path} imports ${to}`);
  assert.deepEqual(breaches, []);
});

test("a folder exposes only the types that the table names, if any", () => {
  const breaches = crossings
    .filter(({ units, via }) =>
      TYPES_ONLY.some(
        ({ from, to, types }) =>
          units.from === from &&
          units.to === to &&
          (via.kind !== "type" || via.names.length === 0 || !via.names.every((name) => types.includes(name))),
      ),
    )
    .map(({ from, to }) => `${from.path} imports more than types of ${to}`);
  assert.deepEqual(breaches, []);
});

test("expensive modules are loaded lazily", () => {
  const breaches = crossings
    .filter(({ units, via }) =>
      LAZY_ONLY.some(({ from, to }) => units.from === from && units.to === to && via.kind === "value"),
    )
    .map(({ from, to }) => `${from.path} imports ${to}`);
  assert.deepEqual(breaches, []);
});

test("other folders import a folder's index only", () => {
  const breaches = crossings
    .filter(({ to, units }) => to !== `src/${units.to}/index.ts`)
    .map(({ from, to }) => `${from.path} imports ${to}`);
  assert.deepEqual(breaches, []);
});

test("siblings do not import their own index", () => {
  const breaches = edges
    .filter(({ from, to }) => to === `src/${unitOf(from.path)}/index.ts`)
    .map(({ from, to }) => `${from.path} imports ${to}`);
  assert.deepEqual(breaches, []);
});

test("an index only re-exports", () => {
  const reExport = /export\s+(?:type\s+)?(?:\*(?:\s+as\s+\w+)?|\{[^}]*\})\s+from\s+""\s*;/g;
  const breaches = sources
    .filter(({ path }) => path === `src/${unitOf(path)}/index.ts`)
    .filter(({ code }) => code.replace(reExport, "").trim() !== "")
    .map(({ path }) => path);
  assert.deepEqual(breaches, []);
});

test("an index exports only what another folder or a test imports", () => {
  const importers = [...filesUnder("test"), ...filesUnder("bin")]
    .filter((path) => /\.(?:tsx?|mjs)$/.test(path) && read(path).includes("/index.ts"))
    .map((path) => sourceFile(path));
  // An import without names, such as `import("./index.ts")`, may use any word of its file.
  const used = new Map<string, Set<string>>();
  for (const { code, imports } of [...sources, ...importers]) {
    for (const { target = "", names } of imports) {
      if (!target.endsWith("/index.ts")) continue;
      const words = names.length > 0 ? names : (code.match(/\w+/g) ?? []);
      used.set(target, new Set([...(used.get(target) ?? []), ...words]));
    }
  }
  const passedOn = new Set(
    sources.flatMap(({ path }) =>
      [...read(path).matchAll(/^export \* from "(.+)"/gm)].map(([, to = ""]) => posix.join(posix.dirname(path), to)),
    ),
  );
  const unused = sources
    .filter(({ path }) => path.endsWith("/index.ts") && !passedOn.has(path))
    .flatMap(({ path, code }) =>
      [...code.matchAll(/^export (?:type )?\{([^}]*)\}/gm)]
        .flatMap(([, clause = ""]) => clause.match(/\w+(?=\s*(?:,|$))/g) ?? [])
        .filter((name) => used.get(path)?.has(name) !== true)
        .map((name) => `${path} exports ${name}`),
    );
  assert.deepEqual(unused, []);
});

/** A cycle in `graph`, as the path around it; `undefined` when there is none. */
function circle(graph: ReadonlyMap<string, readonly string[]>): readonly string[] | undefined {
  const done = new Set<string>();
  const walk = (node: string, path: readonly string[]): readonly string[] | undefined => {
    if (path.includes(node)) return [...path.slice(path.indexOf(node)), node];
    if (done.has(node)) return undefined;
    for (const next of graph.get(node) ?? []) {
      const found = walk(next, [...path, node]);
      if (found !== undefined) return found;
    }
    done.add(node);
    return undefined;
  };
  for (const node of graph.keys()) {
    const found = walk(node, []);
    if (found !== undefined) return found;
  }
  return undefined;
}

test("an existing import cycle is detected", () => {
  assert.deepEqual(
    circle(
      new Map([
        ["a", ["b"]],
        ["b", ["c"]],
        ["c", ["b"]],
      ]),
    ),
    ["b", "c", "b"],
  );
  assert.equal(
    circle(
      new Map([
        ["a", ["b", "c"]],
        ["b", ["c"]],
        ["c", []],
      ]),
    ),
    undefined,
  );
});

test("modules have no import cycle", () => {
  const graph = new Map(sources.map(({ path }) => [path, [] as string[]]));
  for (const { from, to } of edges) graph.get(from.path)?.push(to);
  assert.equal(circle(graph), undefined);
});

test("the table has no cycle", () => {
  assert.equal(circle(new Map(Object.entries(MAY_IMPORT))), undefined);
});

/** bin/build/omit-unused.mjs omits the rest of it from the bundles. */
const IN_THE_BUNDLE: Readonly<Record<string, ReadonlySet<string>>> = {
  undici: new Set(["Agent", "DecoratorHandler", "Dispatcher", "Pool", "buildConnector", "request"]),
};

test("a partly bundled package is imported only in the bundled part", () => {
  const imported = sources.flatMap(({ path, imports }) =>
    imports.flatMap(({ specifier, names }) => {
      const kept = IN_THE_BUNDLE[specifier];
      return kept === undefined
        ? []
        : names.map((name) => ({ path, name, isKept: kept.has(name.split(" as ")[0] ?? "") }));
    }),
  );
  assert.ok(imported.length > 5, `${imported.length} names`);
  assert.deepEqual(
    imported.filter(({ isKept }) => !isKept),
    [],
  );
});
