/**
 * The tarball that `npm pack` makes of this tree, installed as a user installs it: below a prefix of its own, without a
 * network, from an empty cache, and without any script. What it does not hold is so not found.
 */
import { execFile } from "node:child_process";
import { cp, lstat, mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { atEnd, type Owner } from "../../support/wait.ts";

export const ROOT = resolve(import.meta.dirname, "../../../..");

const LIMIT_MS = 120_000;
const run = promisify(execFile);

export interface Installed {
  readonly prefix: string;
  /** Of the package. */
  readonly root: string;
  /** The launcher, by the link that a shell finds. */
  readonly program: string;
  readonly tarballBytes: number;
  readonly installMs: number;
}

interface Packed {
  readonly filename: string;
  readonly size: number;
}

export async function installTarball(owner: Owner): Promise<Installed> {
  const dir = await mkdtemp(join(tmpdir(), "gateway-package-"));
  atEnd(owner, () => rm(dir, { recursive: true, force: true }));
  const prefix = join(dir, "prefix");
  await mkdir(prefix);
  await run(process.execPath, [join(ROOT, "bin/setup.cjs")]);
  const { stdout } = await npm(["pack", "--ignore-scripts", "--json", "--pack-destination", dir], ROOT);
  const [packed] = JSON.parse(stdout) as readonly Packed[];
  if (packed === undefined) throw new Error(`npm pack said nothing of a tarball: ${stdout}`);
  const startedAt = performance.now();
  const offline = ["--offline", "--cache", join(dir, "cache"), "--ignore-scripts", "--omit=optional"];
  await npm(["install", "-g", "--prefix", prefix, ...offline, join(dir, packed.filename)], dir);
  const installMs = performance.now() - startedAt;
  const root = join(prefix, "lib/node_modules/gateway");
  await addNative(root);
  return { prefix, root, program: join(prefix, "bin/gateway"), tarballBytes: packed.size, installMs };
}

const npm = (args: readonly string[], cwd: string) =>
  run("npm", [...args, "--no-audit", "--no-fund", "--loglevel=error"], { cwd, timeout: LIMIT_MS, maxBuffer: 16 << 20 });

/** What npm fetches of `optionalDependencies` for this machine, where it may ask a registry. */
async function addNative(root: string): Promise<void> {
  const name = `@koromix/koffi-${process.platform}-${process.arch}`;
  await cp(join(ROOT, "node_modules", name), join(root, "node_modules", name), { recursive: true });
}

/** What a folder takes, in bytes of files. */
export async function weightOf(folder: string): Promise<number> {
  const names = await readdir(folder, { recursive: true });
  const sizes = await Promise.all(
    names.map(async (name) => {
      const stats = await lstat(join(folder, name));
      return stats.isFile() ? stats.size : 0;
    }),
  );
  return sizes.reduce((all, size) => all + size, 0);
}
