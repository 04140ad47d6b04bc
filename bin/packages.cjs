"use strict";

/**
 * Compares the installed packages with package-lock.json. There are two sets of packages: `build` is needed to build
 * and run the program (the dependencies of package.json), `all` also includes those for tests (of test/package.json).
 */

const { existsSync, readFileSync } = require("node:fs");
const { join } = require("node:path");

/** Packages of koffi that bin/build/koffi.mjs copies. */
const HELD = /^node_modules\/@koromix\/koffi-(linux|darwin)-(x64|arm64)$/;

/**
 * Returns the packages of a set that are not installed in the locked version, as paths of package-lock.json. An optional package
 * may be missing, since it is for another platform or did not build. Reads npm's own list of what it has installed.
 */
function missingPackages(root, set) {
  const locked = packagesOf(join(root, "package-lock.json"));
  // A link is a workspace, which is a folder of the source.
  const isPackage = (path) => path.startsWith("node_modules/") && locked[path].link !== true;
  const wanted = set === "build" ? reachable(locked) : Object.keys(locked).filter(isPackage);
  const installedPath = join(root, "node_modules", ".package-lock.json");
  if (!existsSync(installedPath)) return wanted.filter((path) => isForThisMachine(locked[path]));
  const installed = packagesOf(installedPath);
  return wanted.filter((path) => {
    const found = installed[path];
    if (found === undefined) return locked[path].optional !== true;
    return found.version !== locked[path].version || !existsSync(join(root, path));
  });
}

const isForThisMachine = ({ os, cpu }) =>
  (os?.includes(process.platform) ?? true) && (cpu?.includes(process.arch) ?? true);

function packagesOf(path) {
  try {
    return JSON.parse(readFileSync(path, "utf8")).packages ?? {};
  } catch (error) {
    throw new Error(`${path} cannot be read: ${error.message}`);
  }
}

/** Returns the paths of the packages that package.json needs, directly or indirectly. */
function reachable(locked) {
  const own = locked[""] ?? {};
  const found = new Set();
  const pending = namesIn(own, "dependencies", "devDependencies", "optionalDependencies").map((name) => ["", name]);
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const path = resolveName(locked, ...next);
    if (path === undefined || found.has(path)) continue;
    found.add(path);
    const names = namesIn(locked[path], "dependencies", "optionalDependencies", "peerDependencies");
    pending.push(...names.map((name) => [path, name]));
  }
  return [...found].sort();
}

const namesIn = (entry, ...members) => members.flatMap((member) => Object.keys(entry[member] ?? {}));

/**
 * Resolves a package name as Node.js does: in the node_modules of the importing package, then in those of the folders
 * above it.
 */
function resolveName(locked, from, name) {
  for (let place = from; ; place = place.slice(0, Math.max(0, place.lastIndexOf("node_modules/") - 1))) {
    const path = place === "" ? `node_modules/${name}` : `${place}/node_modules/${name}`;
    if (locked[path] !== undefined) return path;
    if (place === "") return undefined;
  }
}

/**
 * Returns the packages that a build on this machine needs, including packages for other platforms that the tarball
 * contains.
 */
function packagesForBuild(root) {
  const locked = packagesOf(join(root, "package-lock.json"));
  return reachable(locked).filter((path) => isForThisMachine(locked[path]) || HELD.test(path));
}

module.exports = { missingPackages, packagesForBuild };
