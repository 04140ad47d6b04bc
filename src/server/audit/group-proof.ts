/**
 * Merkle tree over the records that share one signature, and the path that proves that a record is in it. The tree is
 * that of RFC 9162, section 2.1: a leaf is SHA-256 over 0x00 and the hash of a record, a node is SHA-256 over 0x01 and
 * its two children, and a child without a sibling moves up unchanged.
 */

import { hash } from "node:crypto";

/** Minimum size of a group with a tree; a single record is signed directly. */
const MIN_GROUP = 2;
export const MAX_GROUP = 256;

/** Prefix of the bytes that a group's signature covers; the size in two bytes and the root follow. */
const GROUP_DOMAIN = Buffer.from("gateway/audit/v1/group\n");

const HASH_BYTES = 32;
/** Maximum length of a path: levels of a tree of `MAX_GROUP` leaves, without the root. */
const MAX_STEPS = 8;

/** Maximum length of a proof as text: `size.index.path`. */
export const MAX_PROOF_LENGTH = "256.255.".length + Math.ceil((MAX_STEPS * HASH_BYTES * 4) / 3);

interface GroupProof {
  /** Number of records in the group. */
  readonly size: number;
  /** Position of the record in it, from 0. */
  readonly index: number;
  /** Hashes of the siblings from the leaf up to the root, one after the other. */
  readonly path: Buffer;
}

interface GroupTree {
  /** Bytes to sign. */
  readonly signedBytes: Buffer;
  /** Returns the proof of a leaf as text. */
  proofOf(index: number): string;
}

/** Builds the tree. `digests`: hashes of 2 to `MAX_GROUP` records, in order. */
export function buildTree(digests: readonly Buffer[]): GroupTree {
  const size = digests.length;
  const levels: (readonly Buffer[])[] = [];
  let level: readonly Buffer[] = digests.map(leafOf);
  while (level.length > 1) {
    levels.push(level);
    level = levelAbove(level);
  }
  return {
    signedBytes: encodeSignedBytes(size, level[0] as Buffer),
    proofOf(index) {
      const path: Buffer[] = [];
      let at = index;
      for (const each of levels) {
        const sibling = each[at ^ 1];
        if (sibling !== undefined) path.push(sibling);
        at >>= 1;
      }
      return `${size}.${index}.${Buffer.concat(path).toString("base64url")}`;
    },
  };
}

function levelAbove(level: readonly Buffer[]): readonly Buffer[] {
  const above: Buffer[] = [];
  for (let at = 0; at < level.length; at += 2) {
    const left = level[at] as Buffer;
    const right = level[at + 1];
    above.push(right === undefined ? left : nodeOf(left, right));
  }
  return above;
}

const PROOF = /^([1-9]\d{0,2})\.(0|[1-9]\d{0,2})\.([A-Za-z0-9_-]{43,342})$/;

/** Parses a proof. Returns `undefined` for any text that `proofOf` would not write. */
export function parseProof(text: string): GroupProof | undefined {
  const [, sizeText, indexText, pathText] = PROOF.exec(text) ?? [];
  if (sizeText === undefined || indexText === undefined || pathText === undefined) return undefined;
  const size = Number(sizeText);
  const index = Number(indexText);
  if (size < MIN_GROUP || size > MAX_GROUP || index >= size) return undefined;
  const path = Buffer.from(pathText, "base64url");
  // Base64 has unused bits at its end, so two texts can decode to the same bytes.
  if (path.toString("base64url") !== pathText) return undefined;
  let steps = 0;
  for (const { hasSibling } of stepsUp(size, index)) steps += hasSibling ? 1 : 0;
  return path.length === steps * HASH_BYTES ? { size, index, path } : undefined;
}

/** Returns the bytes that the group's signature must cover if it contains the record with this hash. */
export function signedBytesOf(digest: Buffer, { size, index, path }: GroupProof): Buffer {
  let node = leafOf(digest);
  let from = 0;
  for (const { hasSibling, isRight } of stepsUp(size, index)) {
    if (!hasSibling) continue;
    const sibling = path.subarray(from, from + HASH_BYTES);
    from += HASH_BYTES;
    node = isRight ? nodeOf(sibling, node) : nodeOf(node, sibling);
  }
  return encodeSignedBytes(size, node);
}

/**
 * Yields the levels from a leaf up to the root: whether the node has a sibling, and whether the node is the right
 * child.
 */
function* stepsUp(size: number, index: number): Generator<{ readonly hasSibling: boolean; readonly isRight: boolean }> {
  let at = index;
  for (let width = size; width > 1; width = (width + 1) >> 1) {
    yield { hasSibling: (at ^ 1) < width, isRight: (at & 1) === 1 };
    at >>= 1;
  }
}

function encodeSignedBytes(size: number, root: Buffer): Buffer {
  const bytes = Buffer.from([size >> 8, size & 0xff]);
  return Buffer.concat([GROUP_DOMAIN, bytes, root]);
}

const leaf = Buffer.alloc(1 + HASH_BYTES);
leaf[0] = 0;
const node = Buffer.alloc(1 + 2 * HASH_BYTES);
node[0] = 1;

function leafOf(digest: Buffer): Buffer {
  leaf.set(digest, 1);
  return hash("sha256", leaf, "buffer");
}

function nodeOf(left: Buffer, right: Buffer): Buffer {
  node.set(left, 1);
  node.set(right, 1 + HASH_BYTES);
  return hash("sha256", node, "buffer");
}
