/** Digests of files, as bytes pass and of what lies on a disk. A digest is lower-case hexadecimal. */
import { createHash } from "node:crypto";
import { open } from "node:fs/promises";
import type { Digest } from "./types.ts";

/** One read of a file that is hashed: the loop is held for 2 ms at most. */
const READ_BYTES = 1 << 20;

export interface Hasher {
  update(bytes: Uint8Array): void;
  /** Once. */
  finish(): { readonly sha256: string; readonly git_blob: string };
}

/** `size`: of the whole content, which the digest of a git blob begins with. */
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

/** Passes what the file holds, up to `length` bytes, to `take`. */
export async function readThrough(
  path: string,
  length: number,
  signal: AbortSignal | undefined,
  take: (bytes: Uint8Array) => void,
): Promise<void> {
  const file = await open(path, "r");
  try {
    const buffer = Buffer.allocUnsafe(READ_BYTES);
    for (let at = 0; at < length; ) {
      signal?.throwIfAborted();
      const { bytesRead } = await file.read(buffer, 0, Math.min(buffer.length, length - at), at);
      if (bytesRead === 0) return;
      take(buffer.subarray(0, bytesRead));
      at += bytesRead;
    }
  } finally {
    await file.close();
  }
}

export async function fileSha256(path: string, signal?: AbortSignal): Promise<string> {
  const hash = createHash("sha256");
  await readThrough(path, Number.POSITIVE_INFINITY, signal, (bytes) => hash.update(bytes));
  return hash.digest("hex");
}
