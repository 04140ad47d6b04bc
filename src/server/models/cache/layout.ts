/**
 * Layout of `cache_dir`; everything in it can be fetched again. Source: design decisions, section 12.
 *
 *     sha256/<digest>        content, read-only, named by its digest
 *     manifests/<key>.json   resolved files of a hub entry
 *     views/<id>/...         hard links under the names that the graph expects
 *     views/<id>.json        marks a complete view, with the metadata of its files when their digests were computed
 *     parts/<digest>.*.part  unfinished downloads
 *     locks/<digest>.lock    owner of a download
 */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { createDirectories } from "../../../base/index.ts";
import { ModelError } from "../model-error.ts";

export interface Layout {
  readonly root: string;
  readonly blobs: string;
  readonly manifests: string;
  readonly views: string;
  readonly parts: string;
  readonly locks: string;
}

export function layoutOf(root: string): Layout {
  return {
    root,
    blobs: join(root, "sha256"),
    manifests: join(root, "manifests"),
    views: join(root, "views"),
    parts: join(root, "parts"),
    locks: join(root, "locks"),
  };
}

/** Creates the folders of the cache. Rejects with `ModelError`. */
export async function makeFolders({ root, ...folders }: Layout): Promise<void> {
  try {
    createDirectories(root, 0o755);
    for (const folder of Object.values(folders)) await mkdir(folder, { mode: 0o755 }).catch(ignoreExisting);
  } catch (error) {
    throw toStorageError(root, error);
  }
}

function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== "EEXIST") throw error;
}

const ERROR_TEXTS: Readonly<Record<string, string>> = {
  ENOSPC: "the disk is full",
  EDQUOT: "the quota of the disk is used up",
  EFBIG: "a file may not become so large here",
  EACCES: "it is not writable for the user of the gateway",
  EPERM: "it is not writable for the user of the gateway",
  EROFS: "it is read-only",
  ENOTDIR: "it is not a directory",
  EMFILE: "too many files are open",
};

/**
 * Converts a system error to a `ModelError` that names `cache_dir`, which the operator can change. Returns other errors
 * unchanged.
 */
export function toStorageError(root: string, error: unknown): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (error instanceof ModelError || code === undefined) return error;
  return new ModelError("storage", `cache_dir ${root}: ${ERROR_TEXTS[code] ?? code}`, { cause: error });
}
