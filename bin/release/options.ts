/** Arguments of `npm run release`. */

export interface Options {
  readonly version: string;
  /** True to build everything without tagging the commit or describing how to publish. */
  readonly isDryRun: boolean;
  /** True to skip the tests and ignore their recorded results; allowed only in a dry run. */
  readonly skipsTests: boolean;
  /** Output folder, relative to the root. */
  readonly out: string;
}

export const USAGE = `Usage: npm run release -- VERSION [--dry-run] [--skip-tests] [--out FOLDER]

Checks the tree, runs the tests, builds the tarball twice in two folders, compares both to the byte, and writes the tarball, its
SBOM, a provenance statement, checksums and release notes to FOLDER (default release/VERSION). Without --dry-run it then tags
the commit. It publishes nothing: its last lines say how to.

  --dry-run     do everything but the tag
  --skip-tests  with --dry-run: leave out npm test, npm run test:all and the results of npm run test:long
`;

/** Parses the arguments. Throws an error with a sentence for the user. */
export function parseOptions(args: readonly string[]): Options {
  const rest = [...args];
  const take = (flag: string): boolean => {
    const at = rest.indexOf(flag);
    if (at >= 0) rest.splice(at, 1);
    return at >= 0;
  };
  const isDryRun = take("--dry-run");
  const skipsTests = take("--skip-tests");
  const at = rest.indexOf("--out");
  const [, out] = at < 0 ? [] : rest.splice(at, 2);
  const [version = "", ...more] = rest;
  if (at >= 0 && out === undefined) throw new Error("`--out` needs a folder.");
  const unknown = [version, ...more].find((text) => text.startsWith("-"));
  if (unknown !== undefined) throw new Error(`There is no option \`${unknown}\`.`);
  if (more.length > 0) throw new Error(`There is one version, and \`${more.join(" ")}\` follows it.`);
  if (!/^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/.test(version)) {
    throw new Error(
      version === "" ? "The version is missing." : `\`${version}\` is not a version; write one such as 0.2.0.`,
    );
  }
  if (skipsTests && !isDryRun)
    throw new Error("`--skip-tests` goes with `--dry-run`: no release is made without its tests.");
  return { version, isDryRun, skipsTests, out: out ?? `release/${version}` };
}
