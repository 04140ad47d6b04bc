/** Builds the command that installs an optional package for this installation of the program. Source: npm, "folders". */

import { existsSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

export interface OptionalPart {
  /** Package to install, `name@version`. */
  readonly wanted: string;
  /** Skips the package's install script, which is not needed and may fail. */
  readonly withoutScripts?: boolean;
}

/** Location of the program and of the Node.js that runs it. */
export interface Installation {
  /** Folder of the program's package.json. */
  readonly root: string;
  readonly node: string;
}

/** Returns a shell command. After it, Node.js finds the package from the program. */
export function installLine(
  { wanted, withoutScripts = false }: OptionalPart,
  at: Installation = installation(),
): string {
  const words = ["npm", "install", ...placeOf(at), ...(withoutScripts ? ["--ignore-scripts"] : []), wanted];
  return words.join(" ");
}

/** Returns the npm options that choose the right folder. */
function placeOf({ root, node }: Installation): readonly string[] {
  const modules = dirname(root);
  // In a clone, the package goes into its node_modules, without a note in package.json.
  if (basename(modules) !== "node_modules") return ["--no-save"];
  const above = dirname(modules);
  if (basename(above) !== "lib") return ["--prefix", above];
  // npm's default prefix is that of its Node.js.
  const prefix = dirname(above);
  return prefix === resolve(node, "../..") ? ["-g"] : ["-g", "--prefix", prefix];
}

function installation(): Installation {
  let root = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(root, "package.json")) && dirname(root) !== root) root = dirname(root);
  return { root, node: process.execPath };
}
