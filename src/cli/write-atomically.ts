/**
 * Writes a file atomically: to a temporary file next to it, which is flushed to disk and then renamed. Until then an
 * existing file stays unchanged. The mode is 0600, since the content may include keys and sealed secrets.
 *
 * A path that is not a regular file (a pipe, a device) is written to directly.
 */

import { randomBytes } from "node:crypto";
import { type FileHandle, open, readdir, realpath, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { UsageError } from "./parse-flags.ts";

export type FileTarget =
  /** Regular file. `path` has its symbolic links resolved. */
  { readonly kind: "regular"; readonly path: string } | { readonly kind: "special"; readonly path: string };

/** Checks where to write before the gateway is called. Throws `UsageError`. */
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
export interface FileAttributes {
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
}

/** Age in milliseconds from which a temporary file is abandoned: longer than a running write can wait for its next bytes. */
const ABANDONED_MS = 600_000;

/** Removes temporary files of this target that killed processes left behind. */
async function removeAbandoned(path: string): Promise<void> {
  const prefix = `.${basename(path)}.`;
  const names = await readdir(dirname(path)).catch(() => []);
  for (const name of names) {
    if (!name.startsWith(prefix) || !/^[0-9a-f]{12}\.part$/.test(name.slice(prefix.length))) continue;
    const file = join(dirname(path), name);
    const found = await stat(file).catch(() => undefined);
    if (found !== undefined && Date.now() - found.mtimeMs > ABANDONED_MS)
      await rm(file, { force: true }).catch(() => undefined);
  }
}

/** Writes the file and returns the number of bytes. If it fails, it rejects with the error and leaves no file behind. */
export async function writeWhole(
  { kind, path }: FileTarget,
  parts: AsyncIterable<Uint8Array>,
  attributes?: FileAttributes,
): Promise<number> {
  if (kind === "special") {
    await using file = await open(path, "w");
    return await writeTo(file, parts);
  }
  const temporary = join(dirname(path), `.${basename(path)}.${randomBytes(6).toString("hex")}.part`);
  const file = await open(temporary, "wx", 0o600);
  try {
    const written = await writeTo(file, parts, attributes).finally(() => file.close());
    await rename(temporary, path);
    await flushFolder(dirname(path));
    await removeAbandoned(path);
    return written;
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

async function writeTo(
  file: FileHandle,
  parts: AsyncIterable<Uint8Array>,
  attributes?: FileAttributes,
): Promise<number> {
  let written = 0;
  if (attributes !== undefined) {
    const { uid, gid } = await file.stat();
    if (uid !== attributes.uid || gid !== attributes.gid) await file.chown(attributes.uid, attributes.gid);
    await file.chmod(attributes.mode);
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

/** Makes the new name durable. Not every file system supports this, and the content is already on disk. */
async function flushFolder(path: string): Promise<void> {
  const folder = await open(path).catch(() => undefined);
  await folder?.sync().catch(() => undefined);
  await folder?.close();
}
