/**
 * View of a model: a folder with its files under the names that the graph expects, as hard links to the contents, or
 * copies if the file system has no links. A view is complete if every file has its size and digest. A digest is computed
 * again only if the metadata of the file changed.
 */
import { randomBytes } from "node:crypto";
import { chmod, copyFile, link, mkdir, open, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileSha256, sha256Of } from "../file-digest.ts";
import { ModelError } from "../model-error.ts";
import type { Manifest, ManifestFile, ModelView } from "../types.ts";
import { readJsonFile, writeJsonFile } from "./json-file.ts";
import type { Layout } from "./layout.ts";
import { type FileMetadata, fileStats, isOnlyOursToChange, isSameMetadata, isWritable, metadataOf } from "./trust.ts";

/** Returns the id of a view; `undefined` if a digest is not SHA-256 yet, which means that the content was never verified here. */
export function viewIdOf(files: readonly ManifestFile[]): string | undefined {
  if (files.some(({ digest }) => digest.kind !== "sha256")) return undefined;
  return sha256Of(
    files
      .map(({ path, digest }) => `${path}\0${digest.hex}`)
      .sort()
      .join("\n"),
  );
}

export function viewOf(layout: Layout, id: string, { files }: Pick<Manifest, "files">): ModelView {
  const directory = join(layout.views, id);
  const pathOf = (role: ManifestFile["role"]): string | undefined => {
    const file = files.find((one) => one.role === role);
    return file && join(directory, file.path);
  };
  return {
    id,
    directory,
    graph: pathOf("graph"),
    tokenizer: pathOf("tokenizer"),
    config: pathOf("config"),
    size: files.reduce((sum, { size }) => sum + size, 0),
  };
}

type ViewRecord = { readonly [path: string]: FileMetadata };

/** Syncs a file, because content lost in a power failure would otherwise look complete. */
async function syncFile(path: string): Promise<void> {
  const file = await open(path, "r");
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

const recordPath = (layout: Layout, id: string): string => join(layout.views, `${id}.json`);

/**
 * Returns whether the view exists and is complete. `storesMetadata`: stores the metadata of files that were read again, so that
 * the next check is quick. A view that other users could change does not count as complete if it can be replaced.
 */
export async function isViewComplete(
  layout: Layout,
  id: string,
  files: readonly ManifestFile[],
  storesMetadata: boolean,
  signal?: AbortSignal,
): Promise<boolean> {
  const recorded = parseRecord(await readJsonFile(recordPath(layout, id)));
  const canReplace = await isWritable(layout.views);
  const current: { [path: string]: FileMetadata } = {};
  let hasRehashed = false;
  for (const { path, size, digest } of files) {
    const filePath = join(layout.views, id, path);
    const stats = await fileStats(filePath);
    if (stats === undefined || stats.size !== BigInt(size)) return false;
    if (!isOnlyOursToChange(stats) && canReplace) return false;
    const metadata = metadataOf(stats);
    const recordedMetadata = recorded[path];
    if (recordedMetadata === undefined || !isSameMetadata(recordedMetadata, metadata) || !isOnlyOursToChange(stats)) {
      if ((await fileSha256(filePath, signal)) !== digest.hex) return false;
      hasRehashed = true;
    }
    current[path] = metadata;
  }
  if (hasRehashed && storesMetadata && canReplace)
    await writeJsonFile(recordPath(layout, id), { v: 1, files: current });
  return true;
}

function parseRecord(value: unknown): ViewRecord {
  const files = (value as { readonly files?: unknown } | undefined | null)?.files;
  return typeof files === "object" && files !== null ? (files as ViewRecord) : {};
}

/** Creates a view. `files`: files whose contents were just verified. Rejects with the system's error. */
export async function createView(layout: Layout, id: string, files: readonly ManifestFile[]): Promise<void> {
  const metadataByPath: { [path: string]: FileMetadata } = {};
  for (const { path, digest } of files) {
    const target = join(layout.views, id, path);
    await mkdir(dirname(target), { recursive: true, mode: 0o755 });
    await linkOrCopy(join(layout.blobs, digest.hex), target, digest.hex);
  }
  // The metadata are read after all links were made, since each link changes those of its content.
  for (const { path } of files) {
    const stats = await fileStats(join(layout.views, id, path));
    if (stats !== undefined) metadataByPath[path] = metadataOf(stats);
  }
  await writeJsonFile(recordPath(layout, id), { v: 1, files: metadataByPath });
}

/** Errors that mean that a link is impossible: no links, two file systems, or too many links to one file. */
const UNLINKABLE: ReadonlySet<string | undefined> = new Set([
  "EXDEV",
  "EPERM",
  "EMLINK",
  "ENOSYS",
  "ENOTSUP",
  "EOPNOTSUPP",
]);

async function linkOrCopy(blob: string, target: string, sha256: string): Promise<void> {
  const [from, to] = await Promise.all([fileStats(blob), fileStats(target)]);
  if (from !== undefined && to !== undefined && from.ino === to.ino && from.dev === to.dev) return;
  const temporaryPath = `${target}.${randomBytes(6).toString("hex")}.tmp`;
  try {
    try {
      await link(blob, temporaryPath);
    } catch (error) {
      if (!UNLINKABLE.has((error as NodeJS.ErrnoException).code)) throw error;
      await copyFile(blob, temporaryPath);
      await chmod(temporaryPath, 0o444);
      await syncFile(temporaryPath);
      if ((await fileSha256(temporaryPath)) !== sha256)
        throw new ModelError("storage", `${target}: the copy is not its original`);
    }
    // The target may be anything, even a folder.
    if (to === undefined) await rm(target, { recursive: true, force: true });
    await rename(temporaryPath, target);
  } finally {
    await rm(temporaryPath, { force: true });
  }
}
