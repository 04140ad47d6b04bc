/** Commit and date of a build, for `gateway version` and the SBOM. */

import { execFileSync } from "node:child_process";
import { version as esbuildVersion } from "esbuild";

/** Returns the output of git, or `undefined` if there is no git or no repository. */
function git(root, ...args) {
  try {
    // Without optional locks, a build cannot interfere with another git command.
    const env = { ...process.env, GIT_OPTIONAL_LOCKS: "0", TZ: "UTC" };
    return execFileSync("git", args, { cwd: root, env, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
  } catch {
    return undefined;
  }
}

/**
 * Returns the `Build` of src/cli/build.ts, with the date of the commit. Commit and date are `unknown` inside another
 * project's repository.
 */
export function revision(root, version) {
  const bundler = `esbuild ${esbuildVersion}`;
  const prefix = git(root, "rev-parse", "--show-prefix");
  const head =
    prefix === ""
      ? git(root, "log", "-1", "--format=%h %cd", "--abbrev=12", "--date=format-local:%Y-%m-%dT%H:%M:%SZ")
      : undefined;
  if (head === undefined) return { version, commit: "unknown", date: "unknown", bundler };
  const [commit, date] = head.split(" ");
  return { version, commit: git(root, "status", "--porcelain") === "" ? commit : `${commit}-dirty`, date, bundler };
}
