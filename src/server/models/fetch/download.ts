/**
 * Downloads one file into the cache. Its declared size limits the download, its digest decides, and the file appears under its
 * name completely or not at all. Source: design decisions, section 12; RFC 9110, section 14 (ranges).
 */
import { open, rename } from "node:fs/promises";
import { join } from "node:path";
import { acquire, type LockTimes } from "../cache/cache-lock.ts";
import { type Layout, storageError } from "../cache/layout.ts";
import { openPart, type Part } from "../cache/part.ts";
import { fileStats, isOurs } from "../cache/trust.ts";
import { digestText, fileSha256 } from "../file-digest.ts";
import { ModelError } from "../model-error.ts";
import type { ManifestFile } from "../types.ts";
import { refusalOf } from "./download-refusal.ts";
import { repeated, type Waiting } from "./fetch-attempts.ts";
import { type Answer, place, readFailure, type Transport } from "./hub-transport.ts";

/** First line of a Git LFS pointer, which a repository may hold in place of the file. */
const POINTER = "version https://git-lfs.github.com/spec/v1";
/** Maximum size of a pointer file; a real one has 130 bytes. */
const MAX_POINTER_BYTES = 1_024;

export interface Source {
  readonly transport: Transport;
  readonly waiting: Waiting;
  readonly lockTimes: LockTimes;
  readonly layout: Layout;
  /** Sent only to the origin of the file's address. */
  readonly token: string | undefined;
  /** Commit that the answer must name; `undefined` if any is accepted. */
  readonly commit: string | undefined;
}

interface Bytes {
  readonly signal: AbortSignal;
  /** Called with the progress in bytes since the last call; negative when a download restarts. */
  readonly onBytes: (bytes: number) => void;
}

/**
 * Downloads a file unless it is cached. Returns the SHA-256 under which the content is in the cache. Rejects with
 * `ModelError`, or with the signal's reason.
 */
export async function obtain(file: ManifestFile, source: Source, bytes: Bytes): Promise<string> {
  const { layout, lockTimes } = source;
  const { hex, kind } = file.digest;
  const blob = kind === "sha256" ? join(layout.blobs, hex) : undefined;
  for (;;) {
    if (blob !== undefined && (await isSound(blob, file, bytes.signal))) {
      bytes.onBytes(file.size);
      return hex;
    }
    const there = async (): Promise<boolean> =>
      blob !== undefined &&
      (await fileStats(blob))?.size === BigInt(file.size) &&
      (await isSound(blob, file, bytes.signal));
    const lock = await acquire(join(layout.locks, `${hex}.lock`), layout.root, lockTimes, there, bytes.signal);
    if (lock === undefined) continue;
    try {
      // Another process may have finished between the check and the lock.
      if (await there()) continue;
      return await download(file, source, bytes);
    } finally {
      await lock.release();
    }
  }
}

async function isSound(blob: string, { size, digest }: ManifestFile, signal: AbortSignal): Promise<boolean> {
  const stats = await fileStats(blob);
  return (
    stats !== undefined &&
    stats.size === BigInt(size) &&
    isOurs(stats) &&
    (await fileSha256(blob, signal).catch(() => undefined)) === digest.hex
  );
}

/** Downloads a file. Wrong bytes are fetched once more, since a part that an interrupted process left may be damaged. */
async function download(file: ManifestFile, source: Source, bytes: Bytes): Promise<string> {
  try {
    return await once(file, source, bytes);
  } catch (error) {
    if (!(error instanceof WrongDigest)) throw error;
    return await once(file, source, bytes);
  }
}

class WrongDigest extends ModelError {}

async function once(file: ManifestFile, source: Source, bytes: Bytes): Promise<string> {
  const { layout } = source;
  let part: Part;
  try {
    part = await openPart(layout.parts, file, bytes.signal);
  } catch (error) {
    bytes.signal.throwIfAborted();
    throw storageError(layout.root, error);
  }
  bytes.onBytes(part.length());
  try {
    await fill(part, file, source, bytes);
    const digests = await part.finish();
    if (digests[file.digest.kind] !== file.digest.hex) {
      const found = digestText({ ...file.digest, hex: digests[file.digest.kind] });
      const words = `has the digest ${found} in place of ${digestText(file.digest)}`;
      throw new WrongDigest("mismatch", `${place(new URL(file.url))}: ${words}`);
    }
    await rename(part.path, join(layout.blobs, digests.sha256));
    await syncFolder(layout.blobs);
    await part.close();
    return digests.sha256;
  } catch (error) {
    const length = part.length();
    await part.close().catch(() => undefined);
    // An interrupted download is resumed later; after any other failure nothing is left behind.
    const isResumable = bytes.signal.aborted || (error instanceof ModelError && error.fault === "unreachable");
    if (!isResumable || length === 0) await part.discard().catch(() => undefined);
    bytes.onBytes(-length);
    bytes.signal.throwIfAborted();
    throw storageError(layout.root, error);
  }
}

async function fill(part: Part, file: ManifestFile, source: Source, { signal, onBytes }: Bytes): Promise<void> {
  let furthest = part.length();
  let etag: string | undefined;
  const again = async (): Promise<void> => {
    onBytes(-part.length());
    await part.empty();
    etag = undefined;
  };
  await repeated(
    async (moved) => {
      const from = part.length();
      if (from === file.size) return;
      const { transport, token, commit } = source;
      const url = new URL(file.url);
      const answer = await transport.open({ url, token, from, signal });
      try {
        const { status } = answer;
        if (status === 416 || (status === 206 && !continues(answer, from, file.size, etag))) {
          await again();
          throw new ModelError("unreachable", `${place(answer.url)}: answers with another range`, { retryAfterMs: 0 });
        }
        if (status !== 200 && status !== 206) throw await refusalOf(answer, token);
        // The server does not support ranges.
        if (status === 200 && from > 0) await again();
        await checkHead(answer, file.size - part.length(), commit);
        etag = strong(answer.headers["etag"]);
        for await (const chunk of read(answer, signal)) {
          if (part.length() + chunk.length > file.size) {
            throw new ModelError(
              "mismatch",
              `${place(answer.url)}: sends more than the ${file.size} bytes it should have`,
            );
          }
          await part.append(chunk);
          onBytes(chunk.length);
          if (part.length() > furthest) {
            furthest = part.length();
            moved();
          }
        }
      } finally {
        answer.body.destroy();
      }
      if (part.length() < file.size) {
        const words = `ended after ${part.length()} of ${file.size} bytes`;
        throw new ModelError("unreachable", `${place(answer.url)}: ${words}`);
      }
    },
    source.waiting,
    signal,
  );
}

async function* read({ body, url }: Answer, signal: AbortSignal): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of body) yield Buffer.from(chunk);
  } catch (error) {
    signal.throwIfAborted();
    throw error instanceof ModelError ? error : readFailure(url, error);
  }
}

const strong = (etag: string | undefined): string | undefined => (etag?.startsWith('"') ? etag : undefined);

function continues({ headers }: Answer, from: number, size: number, etag: string | undefined): boolean {
  const range = /^bytes (\d+)-\d+\/(\d+|\*)$/.exec(headers["content-range"] ?? "");
  if (range === null || Number(range[1]) !== from) return false;
  if (range[2] !== "*" && Number(range[2]) !== size) return false;
  const now = strong(headers["etag"]);
  return etag === undefined || now === undefined || etag === now;
}

/** Checks the headers before any of the body is read. */
async function checkHead(answer: Answer, wanted: number, pinned: string | undefined): Promise<void> {
  const { headers, url, commit } = answer;
  if (pinned !== undefined && commit !== undefined && commit !== pinned) {
    const words = `answers with commit ${commit.slice(0, 40)} in place of ${pinned}`;
    throw new ModelError("mismatch", `${place(url)}: ${words}`);
  }
  if ((headers["content-encoding"] ?? "identity") !== "identity") {
    throw new ModelError("refused", `${place(url)}: sent a compressed answer, which was not requested`);
  }
  const { "content-length": length } = headers;
  if (length === undefined || Number(length) === wanted) return;
  const isPointer = Number(length) <= MAX_POINTER_BYTES && (await answer.body.text()).startsWith(POINTER);
  throw new ModelError(
    "mismatch",
    isPointer
      ? `${place(url)}: sent a Git LFS pointer instead of the file: this mirror does not serve large files`
      : `${place(url)}: has ${length} bytes in place of ${wanted}`,
  );
}

/**
 * Syncs the folder so that the name survives a power failure. Where folders cannot be synced, the digest is checked at the next
 * start.
 */
async function syncFolder(path: string): Promise<void> {
  try {
    const folder = await open(path, "r");
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
  } catch {
    // Some systems cannot open a folder.
  }
}
