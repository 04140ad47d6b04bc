/**
 * Builds the tarball of a commit from a clone in its own folder. With the same versions of Node.js, npm and zlib, two
 * builds of a commit are identical: the build's date is that of the commit, npm sorts the files and gives them all one
 * time, file modes do not depend on the user's umask, and no path of the folder becomes part of the result.
 */

import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { git, node, npm } from "./command.ts";

export interface Built {
  /** Path of the tarball. */
  readonly tarball: string;
  readonly name: string;
  /** CycloneDX document about the packages in the tarball. */
  readonly sbom: string;
  /** Total size of the files in the tarball, in bytes. */
  readonly unpackedBytes: number;
}

/** Commands of a build in their order; the provenance statement lists them. */
export const COMMANDS = [
  "node bin/setup.cjs start",
  "node bin/add-platforms.mjs",
  "npm pack --ignore-scripts",
] as const;

interface Packed {
  readonly filename: string;
  readonly unpackedSize: number;
}

export function buildCommit(root: string, commit: string, folder: string): Built {
  const source = join(folder, "source");
  mkdirSync(folder, { recursive: true });
  // Sets the modes of the files in the checkout.
  process.umask(0o022);
  git(root, "clone", "--quiet", "--shared", "--no-checkout", root, source);
  git(source, "checkout", "--quiet", "--detach", commit);
  node(source, "bin/setup.cjs", "start");
  node(source, "bin/add-platforms.mjs");
  const output = npm(source, "pack", "--ignore-scripts", "--json", "--loglevel=error", "--pack-destination", folder);
  const [packed] = JSON.parse(output) as readonly Packed[];
  if (packed === undefined) throw new Error(`npm pack reported no tarball: ${output}`);
  const changed = git(source, "status", "--porcelain");
  if (changed !== "") throw new Error(`the build changes files of the source: ${changed}`);
  return {
    tarball: join(folder, packed.filename),
    name: packed.filename,
    sbom: readFileSync(join(source, "dist/sbom.cdx.json"), "utf8"),
    unpackedBytes: packed.unpackedSize,
  };
}
