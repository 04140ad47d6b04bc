/** Puts content that is too large for one command into the log in parts. */

import { createHash } from "node:crypto";
import { open } from "node:fs/promises";
import { mapWithLimit } from "../../../base/index.ts";
import { ClusterError } from "../cluster-error.ts";
import type { Cluster, WriteOptions } from "../types.ts";

/** Size of a part in bytes, before base64 makes it a third larger. */
export const BLOB_PART_BYTES = 512 * 1024;

/** Maximum number of concurrent parts. */
const BLOB_PARALLEL = 4;

/** Returns the number of parts of content of this size. */
export const partsOf = (bytes: number): number => Math.max(1, Math.ceil(bytes / BLOB_PART_BYTES));

/** Puts a file into the log in parts, a few at a time. Resolves with the number of parts. */
export async function writeParts(
  path: string,
  sha256: string,
  write: Cluster["write"],
  options: WriteOptions,
): Promise<number> {
  const file = await open(path, "r");
  try {
    const { size } = await file.stat();
    const of = partsOf(size);
    const parts = Array.from({ length: of }, (_, part) => part);
    const { signal = new AbortController().signal } = options;
    await mapWithLimit(parts, BLOB_PARALLEL, signal, async (part, until) => {
      const length = Math.min(BLOB_PART_BYTES, size - part * BLOB_PART_BYTES);
      const { buffer } = await file.read(Buffer.alloc(length), 0, length, part * BLOB_PART_BYTES);
      await putPart({ sha256, part, of, data: buffer.toString("base64") }, write, { ...options, signal: until });
    });
    return of;
  } finally {
    await file.close();
  }
}

/**
 * Puts a document that is too large for one command into the log, in parts of at most 512 KiB. A later command names them by the
 * digest.
 */
export async function putBlob(
  cluster: Pick<Cluster, "write">,
  bytes: Uint8Array,
  options: WriteOptions,
): Promise<{ readonly sha256: string; readonly parts: number }> {
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  const of = partsOf(bytes.length);
  for (let part = 0; part < of; part += 1) {
    const data = Buffer.from(bytes.subarray(part * BLOB_PART_BYTES, (part + 1) * BLOB_PART_BYTES)).toString("base64");
    await putPart({ sha256, part, of, data }, cluster.write, options);
  }
  return { sha256, parts: of };
}

async function putPart(p: unknown, write: Cluster["write"], { by, timeoutMs, signal }: WriteOptions): Promise<void> {
  const result = await write({ t: "blob.put", p }, { by, timeoutMs, ...(signal && { signal }) });
  if (result.kind === "refused") throw new ClusterError("refused", result.message);
}
