/**
 * Compiles the simulator into one plain file, which runs many times faster than through a loader. For a mutant one text
 * in one source file is replaced during compilation.
 */

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { build, type Plugin } from "esbuild";
import type { Mutant } from "./mutants.ts";

const here = dirname(fileURLToPath(import.meta.url));
const root = resolve(here, "../..");

/** Some packages of the state machine use `require`. */
const REQUIRE = "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);";

/**
 * Compiles `entry` of this folder into a file in `folder` and returns its path. Throws when the text that `mutant`
 * replaces is not in its file exactly once, or when that file is not part of `entry`.
 */
export async function compile(options: {
  readonly folder: string;
  readonly entry: "main.ts" | "simulation.ts";
  readonly mutant?: Mutant;
}): Promise<string> {
  const { folder, entry, mutant } = options;
  const outfile = join(folder, `${mutant?.name ?? "sim"}.mjs`);
  const replaced: string[] = [];
  await build({
    entryPoints: [join(here, entry)],
    outfile,
    bundle: true,
    platform: "node",
    target: "node20",
    format: "esm",
    sourcemap: "inline",
    banner: { js: REQUIRE },
    logLevel: "silent",
    plugins: mutant === undefined ? [] : [replacing(mutant, () => replaced.push(mutant.name))],
  });
  if (mutant !== undefined && replaced.length !== 1) throw new Error(`${mutant.name}: ${mutant.file} is not compiled`);
  return outfile;
}

function replacing({ name, file, find, replace }: Mutant, onReplaced: () => void): Plugin {
  return {
    name: "mutant",
    setup(builder) {
      builder.onLoad({ filter: /\.ts$/ }, ({ path }) => {
        if (relative(root, path).split(sep).join("/") !== file) return undefined;
        const text = readFileSync(path, "utf8");
        const count = text.split(find).length - 1;
        if (count !== 1) throw new Error(`${name}: its text stands ${count} times in ${file}`);
        onReplaced();
        return { contents: text.replace(find, () => replace), loader: "ts" };
      });
    },
  };
}

/** Calls `use` with a temporary folder, which is removed afterwards. */
export async function inFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), "gateway-sim-"));
  try {
    return await use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
