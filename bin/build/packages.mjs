/** Lists the packages in the bundles, based on esbuild's metafiles. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/**
 * Matches files with a license. A folder `deps` of a package contains sources of other projects, which have their own
 * licenses.
 */
const LICENCE_FILE = /^(licen[cs]es?|copying|notice|copyright|unlicense)([.-].*)?$/i;
const NESTED_SOURCES = "deps";

/**
 * Returns the packages, sorted by name and version. `path`: path in package-lock.json. `uses`: paths of the packages
 * that its bundled code imports; `isUsed`: whether the program itself imports it.
 */
export function packagesIn(root, metafiles) {
  const packageOf = (file) => packageAt(file.replace(/^named:/, ""));
  const found = new Map();
  const direct = new Set();
  const take = (path) => {
    const known = found.get(path);
    if (known !== undefined) return known;
    const made = { path, uses: new Set(), ...describe(join(root, path)) };
    found.set(path, made);
    return made;
  };
  for (const { inputs, outputs } of metafiles) {
    for (const output of Object.values(outputs)) {
      for (const file of Object.keys(output.inputs)) {
        const from = packageOf(file);
        if (from !== undefined) take(from);
      }
    }
    for (const [file, { imports }] of Object.entries(inputs)) {
      const from = packageOf(file);
      for (const to of imports.map(({ path }) => packageOf(path))) {
        if (to === undefined || to === from || !found.has(to)) continue;
        if (from === undefined) direct.add(to);
        else found.get(from)?.uses.add(to);
      }
    }
  }
  return [...found.values()]
    .map((it) => ({ ...it, uses: [...it.uses].sort(), isUsed: direct.has(it.path) }))
    .sort((a, b) => compare(a.name, b.name) || compare(a.version, b.version));
}

const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

/** Returns the innermost package, `node_modules/a/node_modules/@b/c`; `undefined` for a file of the program. */
function packageAt(file) {
  return /^(.*\bnode_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1];
}

function describe(folder) {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  return { name, version, license, texts: licencesBelow(folder, "") };
}

/** Returns `[file, text]` pairs, including those of sources that a native package is compiled from. */
function licencesBelow(folder, below) {
  return readdirSync(join(folder, below), { withFileTypes: true }).flatMap((entry) => {
    const path = below === "" ? entry.name : `${below}/${entry.name}`;
    if (entry.isDirectory()) return path.split("/")[0] === NESTED_SOURCES ? licencesBelow(folder, path) : [];
    return LICENCE_FILE.test(entry.name) ? [[path, readFileSync(join(folder, path), "utf8")]] : [];
  });
}
