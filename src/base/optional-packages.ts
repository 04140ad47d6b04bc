/**
 * Table of the optional npm packages: what needs each of them, the tested version, and the command that installs it.
 * `gateway parts`, `gateway check` and the start use it, so all three show the same command. Source: npm, "folders".
 */

import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

export type OptionalPackageName = "re2" | "onnxruntime-node" | "tokenizers";

export interface OptionalPackage {
  readonly name: OptionalPackageName;
  /** Version that this build is tested with; equal to `peerDependencies` of package.json. */
  readonly version: string;
  /** Clause that says what needs the package. */
  readonly serves: string;
  /** Keys of the deployment document that need the package, or set its path. */
  readonly keys: readonly string[];
  /**
   * True if the package's install script fetches or compiles its native part. Other packages are installed without
   * scripts.
   */
  readonly needsScript: boolean;
}

export const OPTIONAL_PACKAGES: readonly OptionalPackage[] = [
  {
    name: "re2",
    version: "1.24.0",
    serves: "detectors of type pii with `prefilter: native`, which is the default",
    keys: ["guardrails.detectors[].prefilter"],
    needsScript: true,
  },
  {
    name: "onnxruntime-node",
    version: "1.30.0",
    serves: "detectors of type nlp, classify and embed whose model runs on this machine",
    keys: keysOfModels("library"),
    // The script downloads libraries for graphics cards, and fails if it cannot.
    needsScript: false,
  },
  {
    name: "tokenizers",
    version: "0.23.2",
    serves: "detectors of type nlp, classify and embed, also if their model runs on a server",
    keys: keysOfModels("tokenizer_library"),
    needsScript: false,
  },
];

function keysOfModels(key: string): readonly string[] {
  return ["nlp", "classify", "embed"].map((type) => `guardrails.detectors[].${type}.${key}`);
}

/** Locations of the program and of the Node.js that runs it. */
export interface Installation {
  /** Folder of the program's package.json. */
  readonly root: string;
  readonly node: string;
}

/** Returns a shell command that installs the package where Node.js finds it from the program. */
export function installCommand(name: OptionalPackageName, installed: Installation = installation()): string {
  const { version, needsScript } = packageNamed(name);
  const options = [...prefixOptions(installed), ...(needsScript ? [] : ["--ignore-scripts"])];
  return ["npm", "install", ...options, `${name}@${version}`].join(" ");
}

function packageNamed(name: OptionalPackageName): OptionalPackage {
  const found = OPTIONAL_PACKAGES.find((one) => one.name === name);
  if (found === undefined) throw new Error(`no optional package ${name}`);
  return found;
}

/** Returns the npm options that select the right folder. */
function prefixOptions({ root, node }: Installation): readonly string[] {
  const modules = dirname(root);
  // A clone gets the package in its node_modules, without an entry in package.json.
  if (basename(modules) !== "node_modules") return ["--no-save"];
  const above = dirname(modules);
  if (basename(above) !== "lib") return ["--prefix", quoted(above)];
  // No option is needed if this prefix is npm's default, which is that of its Node.js.
  const prefix = dirname(above);
  return prefix === resolve(node, "../..") ? ["-g"] : ["-g", "--prefix", quoted(prefix)];
}

/** Quotes a path for a POSIX shell if it has special characters. */
const quoted = (path: string): string => (/^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`);

function installation(): Installation {
  let root = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(root, "package.json")) && dirname(root) !== root) root = dirname(root);
  return { root, node: process.execPath };
}

export interface FoundPackage {
  readonly folder: string;
  readonly version: string;
}

/** Looks a package up as Node.js does: beside the program, in NODE_PATH, or in a global folder. Reads only its manifest. */
export function findPackage(name: OptionalPackageName): FoundPackage | undefined {
  for (const path of createRequire(import.meta.url).resolve.paths(name) ?? []) {
    const folder = join(path, name);
    const version = versionIn(folder);
    if (version !== undefined) return { folder, version };
  }
  return undefined;
}

function versionIn(folder: string): string | undefined {
  try {
    const read: unknown = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    return typeof read === "object" && read !== null && "version" in read ? String(read.version) : undefined;
  } catch {
    return undefined;
  }
}
