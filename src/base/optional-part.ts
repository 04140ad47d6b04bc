/**
 * How to install a package that a part of the program wants and an installation need not have: the command, for where this
 * program lies. Source: npm, "folders".
 */

import { existsSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

export interface OptionalPart {
  /** `name@version`. */
  readonly wanted: string;
  /** What its own script would do at the install is not needed, and may fail. */
  readonly withoutScripts?: boolean;
}

/** Where the program is, and the Node.js that runs it. */
export interface Installation {
  /** The folder with its package.json. */
  readonly root: string;
  readonly node: string;
}

/** A line for a shell. After it Node.js finds the package from the program. */
export function installLine(
  { wanted, withoutScripts = false }: OptionalPart,
  at: Installation = installation(),
): string {
  const words = ["npm", "install", ...placeOf(at), ...(withoutScripts ? ["--ignore-scripts"] : []), wanted];
  return words.join(" ");
}

/** Options of npm. */
function placeOf({ root, node }: Installation): readonly string[] {
  const modules = dirname(root);
  // A clone, in whose own packages it is put, and not noted.
  if (basename(modules) !== "node_modules") return ["--no-save"];
  const above = dirname(modules);
  if (basename(above) !== "lib") return ["--prefix", above];
  // The prefix that npm takes unless it is told another is that of its Node.js.
  const prefix = dirname(above);
  return prefix === resolve(node, "../..") ? ["-g"] : ["-g", "--prefix", prefix];
}

function installation(): Installation {
  let root = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(root, "package.json")) && dirname(root) !== root) root = dirname(root);
  return { root, node: process.execPath };
}
