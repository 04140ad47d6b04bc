"use strict";

/**
 * Stamp of a build, in dist/.stamp: a fingerprint of path, size and time of every file that the build reads. It shows
 * whether dist/ was built from the current source. Times are compared for equality and not by age, so that replacing a
 * file with an older one counts as a change too.
 */

const { createHash } = require("node:crypto");
const { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } = require("node:fs");
const { join } = require("node:path");

const INPUTS = ["src", "bin/build.mjs", "bin/build", "package.json", "package-lock.json", "tsconfig.json"];

function fingerprint(root) {
  const hash = createHash("sha256");
  const pending = [...INPUTS];
  for (let path = pending.shift(); path !== undefined; path = pending.shift()) {
    const absolute = join(root, path);
    if (!existsSync(absolute)) continue;
    const stat = statSync(absolute);
    if (stat.isDirectory()) {
      for (const name of readdirSync(absolute).sort()) pending.push(`${path}/${name}`);
    } else {
      hash.update(`${path} ${stat.size} ${stat.mtimeMs}\n`);
    }
  }
  return hash.digest("hex");
}

function isFresh(root) {
  const path = join(root, "dist", ".stamp");
  return existsSync(path) && readFileSync(path, "utf8") === fingerprint(root);
}

/**
 * Writes the stamp. `of`: fingerprint taken before the build, so that a file saved during the build causes another
 * build.
 */
function write(root, of) {
  mkdirSync(join(root, "dist"), { recursive: true });
  writeFileSync(join(root, "dist", ".stamp"), of);
}

module.exports = { fingerprint, isFresh, write };
