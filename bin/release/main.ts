/**
 * `npm run release -- VERSION`: creates the files of a release from a checked commit. Every step prints one line; a
 * step that fails says what to do, and the status is 1. Nothing is published, and with --dry-run nothing is tagged.
 */

import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { openCycloneDx } from "../../test/e2e/package/support/cyclonedx.ts";
import { type Built, buildCommit } from "./build.ts";
import { releaseNotes } from "./changelog.ts";
import { problemsOf, tagOf } from "./checks.ts";
import { git, npm, passes, succeeds } from "./command.ts";
import { type Options, parseOptions, USAGE } from "./options.ts";
import { provenanceOf, repositoryUri } from "./provenance.ts";
import { differences } from "./tarballs.ts";

const root = resolve(fileURLToPath(import.meta.url), "../../..");
const { packagesForBuild } = createRequire(import.meta.url)("../packages.cjs") as {
  packagesForBuild(root: string): readonly string[];
};

/** Error whose message is a sentence for the user; its stack is not shown. */
class ReleaseError extends Error {}

const tell = (line: string): void => void process.stdout.write(`release: ${line}\n`);
const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");
const mib = (bytes: number): string => `${(bytes / (1 << 20)).toFixed(1)} MiB`;

async function release(options: Options): Promise<void> {
  const { version, isDryRun, skipsTests } = options;
  const problems = problemsOf(root, options);
  if (problems.length > 0)
    throw new ReleaseError(`not ready for ${version}:\n${problems.map((it) => `- ${it}`).join("\n")}`);
  tell(
    `the tree, the version, the changelog${skipsTests ? "" : ", the results of the long tests"} and the tag are in order`,
  );
  if (skipsTests) tellSkipped();
  else runTests();
  const commit = git(root, "rev-parse", "HEAD");
  const temporary = mkdtempSync(join(tmpdir(), "gateway-release-"));
  try {
    const built = await buildTwice(commit, temporary);
    const out = resolve(root, options.out);
    await writeFiles(built, commit, options, out);
    checkPublication(built.tarball, temporary);
    finish(out, options, commit);
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
  if (skipsTests) tellSkipped();
  if (isDryRun) tell("dry run: nothing was tagged");
}

function tellSkipped(): void {
  tell("WARNING: SKIPPED npm test, npm run test:all and the check of test/LONG.md, since --skip-tests was given");
}

function runTests(): void {
  for (const script of ["test", "test:all"]) {
    tell(`npm run ${script}`);
    if (!passes(root, "npm", "run", "--silent", script))
      throw new ReleaseError(`\`npm run ${script}\` failed: see above.`);
  }
}

/**
 * Builds a commit twice and compares the results. The second folder has another name and depth, and a space in its
 * path, so that a path in the result would make a difference.
 */
async function buildTwice(commit: string, temporary: string): Promise<Built> {
  tell(`building commit ${commit.slice(0, 12)} twice, in two folders`);
  const one = buildCommit(root, commit, join(temporary, "one"));
  const other = buildCommit(root, commit, join(temporary, "another place", "two"));
  const [a, b] = [readFileSync(one.tarball), readFileSync(other.tarball)];
  if (!a.equals(b) || one.sbom !== other.sbom) {
    const lines = await differences(one.tarball, other.tarball);
    throw new ReleaseError(`two builds of one commit differ:\n${lines.map((it) => `- ${it}`).join("\n")}`);
  }
  tell(`both builds are equal to the byte: ${one.name}, ${mib(a.length)}, ${mib(one.unpackedBytes)} installed`);
  return one;
}

async function writeFiles(built: Built, commit: string, { version, isDryRun }: Options, out: string): Promise<void> {
  const cycloneDx = await openCycloneDx();
  const faults = cycloneDx.missing === false ? cycloneDx.validate(JSON.parse(built.sbom)) : [];
  if (faults.length > 0) throw new ReleaseError(`the SBOM is not valid: ${faults[0]}`);
  if (cycloneDx.missing === false) tell("the SBOM is valid by the schema of CycloneDX 1.6");
  else if (isDryRun) tell(`WARNING: SKIPPED the validation of the SBOM: ${cycloneDx.missing}`);
  else throw new ReleaseError(`the SBOM cannot be validated: ${cycloneDx.missing}`);

  const base = built.name.replace(/\.tgz$/, "");
  const products = [
    { name: built.name, bytes: readFileSync(built.tarball) },
    { name: `${base}.cdx.json`, bytes: Buffer.from(built.sbom) },
  ];
  const provenance = {
    name: `${base}.provenance.json`,
    bytes: Buffer.from(
      provenanceOf({
        version,
        files: products,
        source: sourceOf(commit),
        lock: readFileSync(join(root, "package-lock.json"), "utf8"),
        packages: packagesForBuild(root),
        tools: { node: process.versions.node, npm: npm(root, "--version"), zlib: process.versions.zlib },
      }),
    ),
  };
  const notes = releaseNotes(readFileSync(join(root, "CHANGELOG.md"), "utf8"), version);
  const files = [...products, provenance];
  const sums = files.map(({ name, bytes }) => `${sha256(bytes)}  ${name}\n`).join("");
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  for (const { name, bytes } of files) writeFileSync(join(out, name), bytes);
  writeFileSync(join(out, "SHA256SUMS"), sums);
  writeFileSync(join(out, "RELEASE_NOTES.md"), notes.text);
}

function sourceOf(commit: string): { readonly uri?: string; readonly commit: string; readonly tree: string } {
  const hasRemote = succeeds(root, "git", "config", "remote.origin.url");
  const uri = hasRemote ? repositoryUri(git(root, "config", "remote.origin.url")) : undefined;
  return { commit, tree: git(root, "rev-parse", `${commit}^{tree}`), ...(uri !== undefined && { uri }) };
}

/** Checks with a dry run that npm would accept the tarball for publication. */
function checkPublication(tarball: string, folder: string): void {
  if (!succeeds(folder, "npm", "publish", tarball, "--dry-run", "--loglevel=error")) {
    throw new ReleaseError(`\`npm publish --dry-run ${tarball}\` fails: run it for the reason.`);
  }
  tell("npm publish --dry-run accepts the tarball");
}

function finish(out: string, { version, isDryRun }: Options, commit: string): void {
  tell(`the files are in ${out}:`);
  process.stdout.write(readFileSync(join(out, "SHA256SUMS"), "utf8").replace(/^/gm, "  ").trimEnd().concat("\n"));
  const tag = tagOf(version);
  if (isDryRun) return;
  if (!succeeds(root, "git", "rev-parse", "-q", "--verify", `refs/tags/${tag}`)) {
    git(root, "tag", "--annotate", "--cleanup=verbatim", "--file", join(out, "RELEASE_NOTES.md"), tag, commit);
  }
  tell(`tagged ${tag}. To publish: git push origin ${tag}, and hand out the files of ${out}`);
}

let options: Options | undefined;
try {
  options = parseOptions(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`release: ${error instanceof Error ? error.message : error}\n\n${USAGE}`);
  process.exitCode = 2;
}
if (options !== undefined) {
  try {
    await release(options);
  } catch (error) {
    const text = error instanceof ReleaseError ? error.message : error instanceof Error ? error.stack : String(error);
    process.stderr.write(`release: ${text}\n`);
    process.exitCode = 1;
  }
}
