/**
 * The tier of a test file, which determines the command that runs it: `test` (`npm test`), `all` (`npm run test:all`)
 * or `long` (`npm run test:long`).
 *
 * If the first line of a file is `// tier: NAME`, that is its tier. Otherwise its folder decides. A file in a folder
 * that is not listed here has no tier until it gets such a line; test/tidy/tiers.test.ts reports these files.
 */

/** Tiers in the order in which they run. */
export const TIERS = ["test", "all", "long"];

/** Folders with the tier of their files. The longest matching folder decides. */
const FOLDERS = {
  "test/admin-api/": "test",
  "test/base/": "test",
  "test/bench-parts/": "test",
  "test/cli/": "test",
  "test/clients/": "test",
  "test/console/": "test",
  "test/docs/": "test",
  "test/peers/": "test",
  "test/runner/": "test",
  "test/screenshots/": "test",
  "test/server/": "test",
  "test/sim/": "test",
  "test/simulator/": "test",
  "test/tidy/": "test",
  "test/e2e/": "all",
  "test/e2e/node-versions/": "long",
  "test/e2e/versions/": "long",
};

const LONGEST_FIRST = Object.keys(FOLDERS).sort((a, b) => b.length - a.length);

/** Returns the tier of a file from its path (relative to the project, forward slashes) and its text, or `undefined`. */
export function tierOf(path, text) {
  const line = /^\/\/ tier: *(\S*) *\r?$/m.exec(text.slice(0, text.indexOf("\n") + 1));
  if (line !== null) return TIERS.includes(line[1]) ? line[1] : undefined;
  const folder = LONGEST_FIRST.find((folder) => path.startsWith(folder));
  return folder === undefined ? undefined : FOLDERS[folder];
}

/**
 * Returns whether a file has random tests. They are a tenth as long in the tiers `test` and `all`; the tier `long` runs
 * these files as well, at full length.
 */
export function isRandom(text) {
  return /from "(?:fast-check|(?:\.\.\/)+support\/random-length\.ts)"/.test(text);
}
