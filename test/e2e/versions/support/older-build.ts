/**
 * Older builds, made from this repository's own history in the cache beside the packages, which they use too. Builds
 * are kept.
 */
import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build, type Plugin } from "esbuild";
import type { OlderBuild } from "../../../server/core/state/versions/closed.ts";
import type { StateModule } from "../../../server/core/state/versions/recorded-log.ts";
import { buildProgram } from "../../cluster/support/program.ts";

export const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), "../../../..");
const CACHE = join(ROOT, "node_modules/.cache/gateway/builds");

const git = (...args: readonly string[]): Buffer =>
  execFileSync("git", args, { cwd: ROOT, stdio: ["ignore", "pipe", "ignore"], maxBuffer: 1 << 30 });

/** Returns why a build is not available here, or false. */
export function missing({ commit }: OlderBuild): string | false {
  try {
    git("cat-file", "-e", `${commit}^{commit}`);
    return false;
  } catch {
    return `the history here does not reach back to ${commit.slice(0, 12)} (git fetch --unshallow)`;
  }
}

/** Returns the unpacked tree of the commit. */
export function sourcesOf({ commit }: OlderBuild): string {
  const place = join(CACHE, commit);
  if (existsSync(place)) return place;
  unpack(commit, place);
  return place;
}

/** Returns the built `bin/gateway` of the commit. */
export function programOf(older: OlderBuild): string {
  const place = sourcesOf(older);
  buildIn(place);
  return join(place, "bin/gateway");
}

function buildIn(place: string): void {
  if (existsSync(join(place, "built"))) return;
  // Builds that bundle packages look for them below their own folder, and write paths from there.
  const bundles = join(place, "bin/build/bundles.mjs");
  if (existsSync(bundles) && !existsSync(join(place, "node_modules"))) {
    symlinkSync(join(ROOT, "node_modules"), join(place, "node_modules"));
    const text = readFileSync(bundles, "utf8");
    writeFileSync(bundles, text.replace("  bundle: true,\n", "  bundle: true,\n  preserveSymlinks: true,\n"));
  }
  // Concurrent processes would write the same files, each complete and identical.
  execFileSync(process.execPath, [join(place, "bin/build.mjs")], {
    cwd: place,
    stdio: ["ignore", "ignore", "inherit"],
  });
  mkdirSync(join(place, "built"), { recursive: true });
}

/** Returns `bin/gateway` of this tree with a change to the cluster thread; `remove` deletes it. */
export async function patchedProgram(patch: Patch): Promise<{ readonly program: string; remove(): void }> {
  buildProgram();
  const place = join(CACHE, `patched-${randomUUID()}`);
  for (const name of ["bin", "dist", "packs", "proto", "package.json"]) {
    cpSync(join(ROOT, name), join(place, name), { recursive: true });
  }
  await build({
    ...BUNDLE,
    absWorkingDir: ROOT,
    entryPoints: ["src/server/cluster/worker.ts"],
    outbase: "src",
    outdir: join(place, "dist"),
    plugins: [patching(ROOT, patch)],
  });
  return { program: join(place, "bin/gateway"), remove: () => rmSync(place, { recursive: true, force: true }) };
}

const BUNDLE = {
  bundle: true,
  format: "esm",
  platform: "node",
  target: "node20",
  packages: "external",
  logLevel: "error",
} as const;

/** The result is complete or absent. */
function unpack(commit: string, place: string): void {
  const unfinished = `${place}.${randomUUID()}`;
  mkdirSync(unfinished, { recursive: true });
  try {
    const paths = git("ls-tree", "--name-only", commit)
      .toString()
      .split("\n")
      .filter((path) => /^(?:bin|src|packs|proto|package\.json|package-lock\.json)$/.test(path));
    const archive = git("archive", "--format=tar", commit, ...paths);
    execFileSync("tar", ["-x", "-C", unfinished], { input: archive, stdio: ["pipe", "ignore", "inherit"] });
    renameSync(unfinished, place);
  } catch (error) {
    rmSync(unfinished, { recursive: true, force: true });
    if (!existsSync(place)) throw error;
  }
}

/** A change of one file of a tree while it is bundled: `from` occurs there once. */
export interface Patch {
  /** Path from the tree's root. */
  readonly path: string;
  readonly from: string;
  readonly to: string;
}

/** Returns the state machine of a tree as a module. */
export async function stateModuleOf(tree: string, patch?: Patch): Promise<StateModule> {
  mkdirSync(CACHE, { recursive: true });
  const outfile = join(CACHE, `state-${randomUUID()}.mjs`);
  try {
    await build({
      ...BUNDLE,
      absWorkingDir: tree,
      entryPoints: ["src/server/core/state/index.ts"],
      outfile,
      plugins: patch === undefined ? [] : [patching(tree, patch)],
    });
    return (await import(pathToFileURL(outfile).href)) as StateModule;
  } finally {
    rmSync(outfile, { force: true });
  }
}

function patching(tree: string, { path, from, to }: Patch): Plugin {
  return {
    name: "patching",
    setup({ onLoad }) {
      onLoad({ filter: /\.ts$/ }, ({ path: file }) =>
        file === join(tree, path)
          ? { contents: patched(readFileSync(file, "utf8"), { path, from, to }), loader: "ts" }
          : undefined,
      );
    },
  };
}

function patched(text: string, { path, from, to }: Patch): string {
  if (text.split(from).length !== 2) throw new Error(`${path} does not have this once: ${from}`);
  return text.replace(from, () => to);
}
