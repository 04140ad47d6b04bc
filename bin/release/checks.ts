/** Checks a working tree before a release. Each problem is a sentence that says what to do. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { releaseNotes } from "./changelog.ts";
import { git, succeeds } from "./command.ts";
import { problemsOfLongResults } from "./long-results.ts";
import type { Options } from "./options.ts";

export function problemsOf(root: string, { version, skipsTests }: Options): readonly string[] {
  const notes = releaseNotes(textOf(root, "CHANGELOG.md"), version);
  return [
    ...problemsOfTree(root),
    ...problemsOfVersion(root, version),
    ...(notes.kind === "problem" ? [notes.text] : []),
    ...problemsOfTag(root, tagOf(version)),
    ...(skipsTests ? [] : problemsOfLongResults(textOf(root, "test/LONG.md"), (commit) => isSameSource(root, commit))),
  ];
}

export const tagOf = (version: string): string => `v${version}`;

const textOf = (root: string, path: string): string => readFileSync(join(root, path), "utf8");

function problemsOfTree(root: string): readonly string[] {
  const changed = git(root, "status", "--porcelain")
    .split("\n")
    .filter((line) => line !== "");
  if (changed.length === 0) return [];
  return [`${changed.length} files are not committed, such as \`${changed[0]?.slice(3)}\`: commit or remove them.`];
}

/**
 * Checks the version in package.json, which is the authoritative one, its copies in package-lock.json, and file names
 * in the documentation.
 */
function problemsOfVersion(root: string, version: string): readonly string[] {
  const own = (JSON.parse(textOf(root, "package.json")) as { readonly version: string }).version;
  const locked = JSON.parse(textOf(root, "package-lock.json")) as {
    readonly version?: string;
    readonly packages: Readonly<Record<string, { readonly version?: string }>>;
  };
  const repeated = [locked.version, locked.packages[""]?.version];
  const wrong = namedTarballs(root).filter((name) => name !== `gateway-${version}.tgz`);
  return [
    ...(own === version
      ? []
      : [`package.json says ${own}: run \`npm version ${version} --no-git-tag-version\`, and commit it.`]),
    ...(repeated.every((it) => it === own)
      ? []
      : ["package-lock.json has another version than package.json: run `npm install --package-lock-only`."]),
    ...(wrong.length === 0 ? [] : [`Documentation names \`${wrong[0]}\`, which is not of this version.`]),
  ];
}

const TARBALL = "gateway-[0-9]+\\.[0-9]+\\.[0-9]+(-[0-9A-Za-z.]+)?\\.tgz";

/** Returns the tarballs that documentation and examples name. */
function namedTarballs(root: string): readonly string[] {
  const search = ["grep", "-hoE", TARBALL, "--", "*.md", "examples"];
  return succeeds(root, "git", ...search) ? git(root, ...search).split("\n") : [];
}

function problemsOfTag(root: string, tag: string): readonly string[] {
  if (!succeeds(root, "git", "rev-parse", "-q", "--verify", `refs/tags/${tag}`)) return [];
  if (git(root, "rev-parse", `${tag}^{commit}`) === git(root, "rev-parse", "HEAD")) return [];
  return [`The tag ${tag} exists, and is of another commit: a version is released once.`];
}

/** Returns whether only the report of the long tests changed since a commit. */
function isSameSource(root: string, commit: string): boolean {
  return succeeds(root, "git", "diff", "--quiet", commit, "HEAD", "--", ".", ":!test/LONG.md");
}
