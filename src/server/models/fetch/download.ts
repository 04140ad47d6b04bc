/**
 * Downloads one file into the cache. Its declared size limits the download, its digest decides, and the file appears under its
 * name completely or not at all. Source: design decisions, section 12; RFC 9110, section 14 (ranges).
 */
import { open, rename } from "node:fs/promises";
import { join } from "node:path";
import { acquireCacheLock, type LockTimes } from "../cache/cache-lock.ts";
import { type Layout, toStorageError } from "../cache/layout.ts";
import { openPartialFile, type PartialFile } from "../cache/part.ts";
import { fileStats, isOnlyOursToChange } from "../cache/trust.ts";
import { digestText, fileSha256 } from "../file-digest.ts";
import { ModelError } from "../model-error.ts";
import type { ManifestFile } from "../types.ts";
import { readRefusal } from "./download-refusal.ts";
import { type RetryTiming, withRetries } from "./fetch-attempts.ts";
import { type HubAnswer, originAndPath, type Transport, toUnreachableError } from "./hub-transport.ts";

/** First line of a Git LFS pointer, which a repository may hold in place of the file. */
const POINTER = "version https://git-lfs.github.com/spec/v1";
/** Maximum size of a pointer file; a real one has 130 bytes. */
const MAX_POINTER_BYTES = 1_024;

export interface DownloadSource {
  readonly transport: Transport;
  readonly waiting: RetryTiming;
  readonly lockTimes: LockTimes;
  readonly layout: Layout;
  /** Sent only to the origin of the file's address. */
  readonly token: string | undefined;
  /** Commit that the answer must name; `undefined` if any is accepted. */
  readonly commit: string | undefined;
}

interface DownloadOptions {
  readonly signal: AbortSignal;
  /** Called with the progress in bytes since the last call; negative when a download restarts. */
  readonly onBytes: (bytes: number) => void;
}

/**
 * Downloads a file unless it is cached. Returns the SHA-256 under which the content is in the cache. Rejects with
 * `ModelError`, or with the signal's reason.
 */
export async function ensureInCache(
  file: ManifestFile,
  source: DownloadSource,
  options: DownloadOptions,
): Promise<string> {
  const { layout, lockTimes } = source;
  const { hex, kind } = file.digest;
  const blob = kind === "sha256" ? join(layout.blobs, hex) : undefined;
  for (;;) {
    if (blob !== undefined && (await hasRightContent(blob, file, options.signal))) {
      options.onBytes(file.size);
      return hex;
    }
    const isInCache = async (): Promise<boolean> =>
      blob !== undefined &&
      (await fileStats(blob))?.size === BigInt(file.size) &&
      (await hasRightContent(blob, file, options.signal));
    const lock = await acquireCacheLock(
      join(layout.locks, `${hex}.lock`),
      layout.root,
      lockTimes,
      isInCache,
      options.signal,
    );
    if (lock === undefined) continue;
    try {
      // Another process may have finished between the check and the lock.
      if (await isInCache()) continue;
      return await download(file, source, options);
    } finally {
      await lock.release();
    }
  }
}

async function hasRightContent(blob: string, { size, digest }: ManifestFile, signal: AbortSignal): Promise<boolean> {
  const stats = await fileStats(blob);
  return (
    stats !== undefined &&
    stats.size === BigInt(size) &&
    isOnlyOursToChange(stats) &&
    (await fileSha256(blob, signal).catch(() => undefined)) === digest.hex
  );
}

/** Downloads a file. Wrong bytes are fetched once more, since a part that an interrupted process left may be damaged. */
async function download(file: ManifestFile, source: DownloadSource, options: DownloadOptions): Promise<string> {
  try {
    return await downloadOnce(file, source, options);
  } catch (error) {
    if (!(error instanceof WrongDigestError)) throw error;
    return await downloadOnce(file, source, options);
  }
}

class WrongDigestError extends ModelError {}

async function downloadOnce(file: ManifestFile, source: DownloadSource, options: DownloadOptions): Promise<string> {
  const { layout } = source;
  let part: PartialFile;
  try {
    part = await openPartialFile(layout.parts, file, options.signal);
  } catch (error) {
    options.signal.throwIfAborted();
    throw toStorageError(layout.root, error);
  }
  options.onBytes(part.length());
  try {
    await fillPart(part, file, source, options);
    const digests = await part.finish();
    if (digests[file.digest.kind] !== file.digest.hex) {
      const found = digestText({ ...file.digest, hex: digests[file.digest.kind] });
      const message = `has the digest ${found} in place of ${digestText(file.digest)}`;
      throw new WrongDigestError("mismatch", `${originAndPath(new URL(file.url))}: ${message}`);
    }
    await rename(part.path, join(layout.blobs, digests.sha256));
    await syncFolder(layout.blobs);
    await part.close();
    return digests.sha256;
  } catch (error) {
    const length = part.length();
    await part.close().catch(() => undefined);
    // An interrupted download is resumed later; after any other failure nothing is left behind.
    const isResumable = options.signal.aborted || (error instanceof ModelError && error.fault === "unreachable");
    if (!isResumable || length === 0) await part.discard().catch(() => undefined);
    options.onBytes(-length);
    options.signal.throwIfAborted();
    throw toStorageError(layout.root, error);
  }
}

async function fillPart(
  part: PartialFile,
  file: ManifestFile,
  source: DownloadSource,
  { signal, onBytes }: DownloadOptions,
): Promise<void> {
  let maxLength = part.length();
  let etag: string | undefined;
  const restart = async (): Promise<void> => {
    onBytes(-part.length());
    await part.truncate();
    etag = undefined;
  };
  await withRetries(
    async (onProgress) => {
      const from = part.length();
      if (from === file.size) return;
      const { transport, token, commit } = source;
      const url = new URL(file.url);
      const answer = await transport.send({ url, token, from, signal });
      try {
        const { status } = answer;
        if (status === 416 || (status === 206 && !continuesPart(answer, from, file.size, etag))) {
          await restart();
          throw new ModelError("unreachable", `${originAndPath(answer.url)}: answers with another range`, {
            retryAfterMs: 0,
          });
        }
        if (status !== 200 && status !== 206) throw await readRefusal(answer, token);
        // The server does not support ranges.
        if (status === 200 && from > 0) await restart();
        await checkHeaders(answer, file.size - part.length(), commit);
        etag = strongEtag(answer.headers["etag"]);
        for await (const chunk of readBody(answer, signal)) {
          if (part.length() + chunk.length > file.size) {
            throw new ModelError(
              "mismatch",
              `${originAndPath(answer.url)}: sends more than the ${file.size} bytes it should have`,
            );
          }
          await part.append(chunk);
          onBytes(chunk.length);
          if (part.length() > maxLength) {
            maxLength = part.length();
            onProgress();
          }
        }
      } finally {
        answer.body.destroy();
      }
      if (part.length() < file.size) {
        const message = `ended after ${part.length()} of ${file.size} bytes`;
        throw new ModelError("unreachable", `${originAndPath(answer.url)}: ${message}`);
      }
    },
    source.waiting,
    signal,
  );
}

async function* readBody({ body, url }: HubAnswer, signal: AbortSignal): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of body) yield Buffer.from(chunk);
  } catch (error) {
    signal.throwIfAborted();
    throw error instanceof ModelError ? error : toUnreachableError(url, error);
  }
}

const strongEtag = (etag: string | undefined): string | undefined => (etag?.startsWith('"') ? etag : undefined);

function continuesPart({ headers }: HubAnswer, from: number, size: number, etag: string | undefined): boolean {
  const range = /^bytes (\d+)-\d+\/(\d+|\*)$/.exec(headers["content-range"] ?? "");
  if (range === null || Number(range[1]) !== from) return false;
  if (range[2] !== "*" && Number(range[2]) !== size) return false;
  const answerEtag = strongEtag(headers["etag"]);
  return etag === undefined || answerEtag === undefined || etag === answerEtag;
}

/** Checks the headers before any of the body is read. */
async function checkHeaders(answer: HubAnswer, expectedBytes: number, pinnedCommit: string | undefined): Promise<void> {
  const { headers, url, commit } = answer;
  if (pinnedCommit !== undefined && commit !== undefined && commit !== pinnedCommit) {
    const message = `answers with commit ${commit.slice(0, 40)} in place of ${pinnedCommit}`;
    throw new ModelError("mismatch", `${originAndPath(url)}: ${message}`);
  }
  if ((headers["content-encoding"] ?? "identity") !== "identity") {
    throw new ModelError("refused", `${originAndPath(url)}: sent a compressed answer, which was not requested`);
  }
  const { "content-length": length } = headers;
  if (length === undefined || Number(length) === expectedBytes) return;
  const isPointer = Number(length) <= MAX_POINTER_BYTES && (await answer.body.text()).startsWith(POINTER);
  throw new ModelError(
    "mismatch",
    isPointer
      ? `${originAndPath(url)}: sent a Git LFS pointer instead of the file: this mirror does not serve large files`
      : `${originAndPath(url)}: has ${length} bytes in place of ${expectedBytes}`,
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
