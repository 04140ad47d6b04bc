/**
 * Size limits of model files, in bytes: larger than any model that detects something in text, but too small to fill a
 * disk unnoticed.
 */
import type { FileRole, ManifestFile } from "./types.ts";

const MIB = 1 << 20;
const GIB = 1024 * MIB;

const LARGEST: Readonly<Record<FileRole, number>> = {
  // A protobuf message cannot exceed 2 GiB; larger weights are stored outside of it.
  graph: 4 * GIB,
  external_data: 16 * GIB,
  // The largest vocabularies in use take 35 MB.
  tokenizer: 64 * MIB,
  config: MIB,
  special_tokens_map: MIB,
};

const LARGEST_MODEL = 32 * GIB;

/** Describes which limit is exceeded; returns `undefined` if none is. */
export function sizeProblem(files: readonly ManifestFile[]): string | undefined {
  let whole = 0;
  for (const { role, path, size } of files) {
    if (!Number.isSafeInteger(size) || size < 0) return `the size of ${path} is not a number of bytes`;
    if (size > LARGEST[role]) return `${path} has ${size} bytes, and a file of role ${role} at most ${LARGEST[role]}`;
    whole += size;
  }
  return whole > LARGEST_MODEL
    ? `the files have ${whole} bytes together, and a model at most ${LARGEST_MODEL}`
    : undefined;
}
