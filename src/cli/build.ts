/**
 * Build information and platform.
 *
 * The build script inserts the values; a program that runs from source has none, and its version line says so. The date
 * is that of the commit, not of the build, so that the same commit always gives the same bundle. The platform is that
 * of the running process.
 */

interface Build {
  readonly version: string;
  /** Twelve hex digits, with `-dirty` when the tree was modified; `unknown` outside a repository. */
  readonly commit: string;
  /** RFC 3339, UTC; `unknown` outside a repository. */
  readonly date: string;
  /** Name and version of the bundler; `source` when the program runs from its sources. */
  readonly bundler: string;
}

declare const GATEWAY_BUILD: Build | undefined;

const UNBUILT: Build = { version: "0.0.0", commit: "unknown", date: "unknown", bundler: "source" };

export function buildOf(): Build {
  return typeof GATEWAY_BUILD === "undefined" ? UNBUILT : GATEWAY_BUILD;
}

/** Returns the platform; `node` without its `v`. */
export function platformOf({ versions, platform, arch }: NodeJS.Process) {
  return { node: versions.node, platform, arch };
}

export function versionLine({ version, commit, date, bundler }: Build): string {
  const { node, platform, arch } = platformOf(process);
  return `gateway ${version}, commit ${commit}, ${date}, ${bundler} on node ${node}, ${platform}/${arch}`;
}
