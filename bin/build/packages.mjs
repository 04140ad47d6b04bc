/** Which packages the bundles hold, by what esbuild says of them. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Names of licence files. A folder `deps` contains another project with a licence of its own. */
const LICENCE_FILE = /^(licen[cs]es?|copying|notice|copyright|unlicense)([.-].*)?$/i;
const NESTED_SOURCES = "deps";

/**
 * Sorted by name and version. `path`: of package-lock.json. `uses`: the paths of the packages that its code in the bundle
 * imports; `isUsed`: whether ours does.
 */
export function packagesIn(root, metafiles) {
  const packageOf = (file) => packageAt(file.replace(`named:${root}/`, ""));
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

/** The innermost: `node_modules/a/node_modules/@b/c`. Undefined: ours. */
function packageAt(file) {
  return /^(.*\bnode_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1];
}

function describe(folder) {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  return { name, version, license, texts: licencesBelow(folder, "") };
}

/** `[file, text]`, also of the sources that a native package is compiled from. */
function licencesBelow(folder, below) {
  return readdirSync(join(folder, below), { withFileTypes: true }).flatMap((entry) => {
    const path = below === "" ? entry.name : `${below}/${entry.name}`;
    if (entry.isDirectory()) return path.split("/")[0] === NESTED_SOURCES ? licencesBelow(folder, path) : [];
    return LICENCE_FILE.test(entry.name) ? [[path, readFileSync(join(folder, path), "utf8")]] : [];
  });
}
