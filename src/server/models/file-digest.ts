/** Computes file digests, of streamed bytes and of files on disk. A digest is lower-case hexadecimal. */
import { createHash } from "node:crypto";
import { open } from "node:fs/promises";
import type { Digest } from "./types.ts";

/** Bytes per read; hashing them blocks the event loop for at most 2 ms. */
const READ_BYTES = 1 << 20;

export interface Hasher {
  update(bytes: Uint8Array): void;
  /** Returns the digests. May be called only once. */
  finish(): { readonly sha256: string; readonly git_blob: string };
}

/** Creates a hasher. `size`: of the whole content, since the digest of a git blob begins with it. */
export function createHasher(size: number): Hasher {
  const sha256 = createHash("sha256");
  const blob = createHash("sha1").update(`blob ${size}\0`);
  return {
    update(bytes) {
      sha256.update(bytes);
      blob.update(bytes);
    },
    finish: () => ({ sha256: sha256.digest("hex"), git_blob: blob.digest("hex") }),
  };
}

export const sha256Of = (text: string): string => createHash("sha256").update(text).digest("hex");

export const digestText = ({ kind, hex }: Digest): string => `${kind === "sha256" ? "sha256" : "git"}:${hex}`;

/** Passes up to `length` bytes of the file to `take`. */
export async function readInChunks(
  path: string,
  length: number,
  signal: AbortSignal | undefined,
  onChunk: (bytes: Uint8Array) => void,
): Promise<void> {
  const file = await open(path, "r");
  try {
    const buffer = Buffer.allocUnsafe(READ_BYTES);
    for (let at = 0; at < length; ) {
      signal?.throwIfAborted();
      const { bytesRead } = await file.read(buffer, 0, Math.min(buffer.length, length - at), at);
      if (bytesRead === 0) return;
      onChunk(buffer.subarray(0, bytesRead));
      at += bytesRead;
    }
  } finally {
    await file.close();
  }
}

export async function fileSha256(path: string, signal?: AbortSignal): Promise<string> {
  const hash = createHash("sha256");
  await readInChunks(path, Number.POSITIVE_INFINITY, signal, (bytes) => hash.update(bytes));
  return hash.digest("hex");
}
