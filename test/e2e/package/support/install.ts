/**
 * The tarball that `npm pack` makes of this tree, installed as a user would: below a prefix of its own with a space in
 * its path, without a network, from an empty cache, and without any script. Anything missing in the tarball is
 * therefore missing.
 */
import { execFile } from "node:child_process";
import { chmod, chown, lstat, mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { atEnd, type Owner } from "../../support/wait.ts";

export const ROOT = resolve(import.meta.dirname, "../../../..");

const LIMIT_MS = 120_000;
const run = promisify(execFile);

interface Tarball {
  readonly path: string;
  readonly bytes: number;
  /** Why native libraries of other platforms are missing, for example without a network. */
  readonly lacksPlatforms: string | false;
}

interface Packed {
  readonly filename: string;
  readonly size: number;
}

export async function packTarball(owner: Owner): Promise<Tarball> {
  const dir = await mkdtemp(join(tmpdir(), "gateway-package-"));
  atEnd(owner, () => rm(dir, { recursive: true, force: true }));
  // Other users install it too.
  await chmod(dir, 0o755);
  await run(process.execPath, [join(ROOT, "bin/setup.cjs")]);
  const lacksPlatforms = await run(process.execPath, [join(ROOT, "bin/add-platforms.mjs")], { timeout: LIMIT_MS }).then(
    () => false as const,
    (error: Error & { readonly stderr?: string }) => `${error.stderr ?? error.message}`.trim().split("\n")[0] ?? "",
  );
  const args = ["pack", "--ignore-scripts", "--json", "--loglevel=error", "--pack-destination", dir];
  const { stdout } = await run("npm", args, { cwd: ROOT, timeout: LIMIT_MS, maxBuffer: 16 << 20 });
  const [packed] = JSON.parse(stdout) as readonly Packed[];
  if (packed === undefined) throw new Error(`npm pack reported no tarball: ${stdout}`);
  return { path: join(dir, packed.filename), bytes: packed.size, lacksPlatforms };
}

interface Installed {
  readonly prefix: string;
  /** Folder of the package. */
  readonly root: string;
  /** The launcher, by the link in the shell's path. */
  readonly program: string;
  readonly installMs: number;
}

interface InstallOptions {
  /** Script of the npm to use; by default the system's. */
  readonly npm?: string;
  /** User and group to install as. */
  readonly user?: number;
}

export async function installTarball(
  owner: Owner,
  tarball: string,
  { npm, user }: InstallOptions = {},
): Promise<Installed> {
  const dir = await mkdtemp(join(tmpdir(), "gateway-package-"));
  atEnd(owner, () => rm(dir, { recursive: true, force: true }));
  const prefix = join(dir, "my prefix");
  await mkdir(prefix);
  if (user !== undefined) for (const folder of [dir, prefix]) await chown(folder, user, user);
  const [program, before] = npm === undefined ? ["npm", []] : [process.execPath, [npm]];
  const options = ["--offline", "--cache", join(dir, "cache"), "--ignore-scripts", "--no-audit", "--no-fund"];
  const startedAt = performance.now();
  await run(program, [...before, "install", "-g", "--prefix", prefix, ...options, "--loglevel=warn", tarball], {
    cwd: dir,
    timeout: LIMIT_MS,
    env: { ...process.env, HOME: dir },
    ...(user !== undefined && { uid: user, gid: user }),
  });
  const installMs = performance.now() - startedAt;
  return { prefix, root: join(prefix, "lib/node_modules/gateway"), program: join(prefix, "bin/gateway"), installMs };
}

/** Returns the size of a folder, in bytes of its files. */
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
