/**
 * `npm run docs` builds the site in `site/`, `npm run docs:dev` serves it while pages are edited. The packages of the site are
 * those of docs/package.json alone, and are installed in docs/node_modules on first use.
 */

import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

const DOCS = resolve(import.meta.dirname, "..");
const [command = "build", ...more] = process.argv.slice(2);

/** Returns whether docs/node_modules is what docs/package-lock.json says. */
function isInstalled() {
  const installed = join(DOCS, "node_modules/.package-lock.json");
  if (!existsSync(installed)) return false;
  const packagesOf = (path) => JSON.parse(readFileSync(path, "utf8")).packages;
  const have = packagesOf(installed);
  return Object.entries(packagesOf(join(DOCS, "package-lock.json"))).every(
    ([path, { version, optional }]) => path === "" || optional || have[path]?.version === version,
  );
}

function run(program, args) {
  const { status, error } = spawnSync(program, args, {
    cwd: DOCS,
    stdio: "inherit",
    shell: process.platform === "win32",
  });
  if (error !== undefined) process.stderr.write(`${program} could not be started: ${error.message}\n`);
  return status ?? 1;
}

if (!isInstalled()) {
  process.stderr.write("Installing the packages of the documentation site in docs/node_modules, once.\n");
  const status = run("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"]);
  if (status !== 0) {
    process.stderr.write("They could not be installed; the pages can be read as Markdown in docs/.\n");
    process.exit(status);
  }
}
process.exitCode = run(process.execPath, [join(DOCS, "node_modules/vitepress/bin/vitepress.js"), command, ...more]);
