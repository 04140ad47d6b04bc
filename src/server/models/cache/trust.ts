/** Checks whether a file is unchanged since it was verified. */

import type { BigIntStats } from "node:fs";
import { access, constants, lstat } from "node:fs/promises";

/** Returns the metadata of a file, or `undefined` if it is not a file. Uses `lstat`, since a link could be redirected. */
export async function fileStats(path: string): Promise<BigIntStats | undefined> {
  try {
    const stats = await lstat(path, { bigint: true });
    return stats.isFile() ? stats : undefined;
  } catch {
    return undefined;
  }
}

/** Returns whether only this user and root can change the file; true on systems without user ids. */
export function isOnlyOursToChange({ uid, mode }: BigIntStats): boolean {
  const ownUid = process.getuid?.();
  return ownUid === undefined || ((uid === 0n || uid === BigInt(ownUid)) && (mode & 0o022n) === 0n);
}

export async function isWritable(directory: string): Promise<boolean> {
  try {
    await access(directory, constants.W_OK | constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Metadata of a file. Someone who changes the content cannot set the change time back. */
export interface FileMetadata {
  readonly size: number;
  readonly ino: string;
  readonly mtime: string;
  readonly ctime: string;
}

export const metadataOf = ({ size, ino, mtimeNs, ctimeNs }: BigIntStats): FileMetadata => ({
  size: Number(size),
  ino: String(ino),
  mtime: String(mtimeNs),
  ctime: String(ctimeNs),
});

export const isSameMetadata = (one: FileMetadata, other: FileMetadata): boolean =>
  one.size === other.size && one.ino === other.ino && one.mtime === other.mtime && one.ctime === other.ctime;
