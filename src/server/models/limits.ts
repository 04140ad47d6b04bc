/**
 * Size limits of model files, in bytes: larger than any model that detects something in text, but too small to fill a
 * disk unnoticed.
 */
import type { FileRole, ManifestFile } from "./types.ts";

const MIB = 1 << 20;
const GIB = 1024 * MIB;

const MAX_BYTES: Readonly<Record<FileRole, number>> = {
  // A protobuf message cannot exceed 2 GiB; larger weights are stored outside of it.
  graph: 4 * GIB,
  external_data: 16 * GIB,
  // The largest vocabularies in use take 35 MB.
  tokenizer: 64 * MIB,
  config: MIB,
  special_tokens_map: MIB,
};

const MAX_MODEL_BYTES = 32 * GIB;

/** Describes which limit is exceeded; returns `undefined` if none is. */
export function sizeProblem(files: readonly ManifestFile[]): string | undefined {
  let totalBytes = 0;
  for (const { role, path, size } of files) {
    if (!Number.isSafeInteger(size) || size < 0) return `the size of ${path} is not a number of bytes`;
    if (size > MAX_BYTES[role])
      return `${path} has ${size} bytes, and a file of role ${role} at most ${MAX_BYTES[role]}`;
    totalBytes += size;
  }
  return totalBytes > MAX_MODEL_BYTES
    ? `the files have ${totalBytes} bytes together, and a model at most ${MAX_MODEL_BYTES}`
    : undefined;
}
