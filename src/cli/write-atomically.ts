/**
 * A file that is there whole or not at all: written beside its name, flushed to the disk, then renamed. One that was there
 * before stays until then. Of mode 0600: what is saved so may hold keys and sealed secrets.
 *
 * A name that is no regular file (a pipe, a device) is written to directly.
 */

import { randomBytes } from "node:crypto";
import { type FileHandle, open, realpath, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { UsageError } from "./flags.ts";

export type FileTarget =
  /** `path` without symbolic links. */
  { readonly kind: "regular"; readonly path: string } | { readonly kind: "special"; readonly path: string };

/** Looks before anything is asked of the gateway. Throws `UsageError`. */
export async function fileTarget(path: string): Promise<FileTarget> {
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) {
    const folder = await stat(dirname(path)).catch(() => undefined);
    if (folder?.isDirectory() !== true) throw new UsageError(`there is no directory ${dirname(path)}`);
    return { kind: "regular", path };
  }
  if (found.isDirectory()) throw new UsageError(`${path} is a directory`);
  return found.isFile() ? { kind: "regular", path: await realpath(path) } : { kind: "special", path };
}

/** Attributes that a file keeps when it is replaced. */
export interface Kept {
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
}

/** Rejects with what broke it off, and then leaves nothing behind. Gives the bytes written. */
export async function writeWhole(
  { kind, path }: FileTarget,
  parts: AsyncIterable<Uint8Array>,
  kept?: Kept,
): Promise<number> {
  if (kind === "special") {
    await using file = await open(path, "w");
    return await writeTo(file, parts);
  }
  const temporary = join(dirname(path), `.${basename(path)}.${randomBytes(6).toString("hex")}.part`);
  const file = await open(temporary, "wx", 0o600);
  try {
    const written = await writeTo(file, parts, kept).finally(() => file.close());
    await rename(temporary, path);
    await flushFolder(dirname(path));
    return written;
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

async function writeTo(file: FileHandle, parts: AsyncIterable<Uint8Array>, kept?: Kept): Promise<number> {
  let written = 0;
  if (kept !== undefined) {
    const { uid, gid } = await file.stat();
    if (uid !== kept.uid || gid !== kept.gid) await file.chown(kept.uid, kept.gid);
    await file.chmod(kept.mode);
  }
  for await (const part of parts) {
    await file.writeFile(part);
    written += part.length;
  }
  // Pipes and devices have nothing to flush.
  await file.sync().catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EINVAL" && error.code !== "ENOTSUP") throw error;
  });
  return written;
}

/** The new name is on the disk too; not every file system can do it, and the content is there by now. */
async function flushFolder(path: string): Promise<void> {
  const folder = await open(path).catch(() => undefined);
  await folder?.sync().catch(() => undefined);
  await folder?.close();
}
