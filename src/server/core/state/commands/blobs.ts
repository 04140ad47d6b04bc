/**
 * Content that is too large for one command: it is uploaded in parts and referenced by its digest in a later command. Rows
 * `blob/<sha256>` and `blob/<sha256>/<part>`. Content that no command uses within an hour of log time is removed
 * (row-expiry.ts).
 */

import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { define } from "../command.ts";
import { ok, refused } from "../command-refusals.ts";
import { base64, integer, object, sha256Hex } from "../fields.ts";
import type { Draft } from "../mutation-draft.ts";
import { digits, rowFormat } from "../row-format.ts";
import type { Steps } from "../steps.ts";
import { featureRowKey, LARGE_ARCHIVE_LEVEL, levelOf } from "./feature.ts";

/** Maximum bytes of a part before base64, which keeps a command below its limit of 1 MiB. */
export const MAX_PART_BYTES = 524_288;
/** Maximum number of parts of a document, and of an archive below `LARGE_ARCHIVE_LEVEL`: 128 MiB. */
const MAX_PARTS = 256;
/** Maximum number of parts of an archive from that level on: 2 GiB, more than the heap of most nodes can hold as rows. */
export const MAX_ARCHIVE_PARTS = 4_096;

const head = object({ of: integer(1, MAX_ARCHIVE_PARTS), used: integer() });
export const blobHeads = rowFormat(head);
const base64Part = base64((MAX_PART_BYTES / 3) * 4 + 8);
export const blobParts = rowFormat(base64Part);

const blobRowKey = (sha256: string): string => `blob/${sha256}`;
const blobPartKey = (sha256: string, part: number): string => `blob/${sha256}/${digits(part, 5)}`;

export const blobReference = object({ sha256: sha256Hex, parts: integer(1, MAX_PARTS) });
export type BlobReference = ReturnType<typeof blobReference>;

export const blobPut = define(
  "blob.put",
  object({
    sha256: sha256Hex,
    part: integer(0, MAX_ARCHIVE_PARTS - 1),
    of: integer(1, MAX_ARCHIVE_PARTS),
    data: base64Part,
  }),
  ({ sha256, part, of, data }, { draft, now }) => {
    const bytes = Buffer.from(data, "base64").length;
    const maxParts = maxPartsAt(levelOf(draft.get(featureRowKey)));
    if (of > maxParts || part >= of || bytes === 0 || bytes > MAX_PART_BYTES) return refused("invalid");
    const before = draft.get(blobRowKey(sha256));
    if (before !== undefined && blobHeads.read(before).of !== of) return refused("conflict");
    if (before === undefined && announcedParts(draft) + of > maxParts) return refused("blob_limit");
    draft.put(blobRowKey(sha256), blobHeads.write({ of, used: now }));
    draft.put(blobPartKey(sha256, part), blobParts.write(data));
    return ok();
  },
);

/** Returns the maximum number of parts of an archive at a feature level. */
export const maxPartsAt = (level: number): number => (level < LARGE_ARCHIVE_LEVEL ? MAX_PARTS : MAX_ARCHIVE_PARTS);

/** Returns the number of parts of all content that is not used yet. */
function announcedParts(draft: Draft): number {
  let parts = 0;
  for (const [key, value] of draft.scan("blob/")) {
    if (key.indexOf("/", "blob/".length) < 0) parts += blobHeads.read(value).of;
  }
  return parts;
}

/** Checks, one part in each step, that no part is missing and that the digest is right. Returns the error, if there is one. */
export function* checkBlob(
  draft: Draft,
  reference: BlobReference,
): Steps<"blob_incomplete" | "digest_mismatch" | undefined> {
  const digest = createHash("sha256");
  let parts = 0;
  for (const piece of blobPieces(draft, reference)) {
    digest.update(piece);
    parts += 1;
    yield;
  }
  if (parts < reference.parts) return "blob_incomplete";
  return digest.digest("hex") === reference.sha256 ? undefined : "digest_mismatch";
}

/** Returns the content of the parts in order, up to the first missing one. */
export function* blobPieces(draft: Draft, { sha256, parts }: BlobReference): Iterable<Buffer> {
  for (let part = 0; part < parts; part += 1) {
    const value = draft.get(blobPartKey(sha256, part));
    if (value === undefined) return;
    yield Buffer.from(blobParts.read(value), "base64");
  }
}

export function dropBlob(draft: Draft, sha256: string): void {
  for (const [key] of draft.scan(`${blobRowKey(sha256)}/`)) draft.delete(key);
  draft.delete(blobRowKey(sha256));
}
