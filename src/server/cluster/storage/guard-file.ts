/**
 * Guard file `raft-guard`: what this node has acknowledged, stored outside of LevelDB, so that a log that lost its end, or was
 * restored from a copy, is detected at the next start. A node that forgets a vote or an entry can undo what a majority
 * committed.
 *
 * Two slots in separate pages are written alternately, and the newer valid one counts, so a write torn by a power failure
 * leaves the other intact. A slot only contains facts that are durable in the log database already: it demands nothing of a
 * batch that a crash may have interrupted, so it never refuses a directory wrongly. A batch with a term or a vote is
 * acknowledged after its slot is durable. A batch of entries is acknowledged at once, and its slot is written beside the
 * following batches. So the guard is one or two flushes behind, and it misses only a loss of exactly the entries of that time.
 *
 * Slot, big endian, 512 bytes: "GWGUARD1" | u64 serial | u64 sequence | u64 epoch | u64 term | u64 lastIndex | u64 lastTerm |
 * u64 snapshotIndex | 16 lastChain | 16 storage id | 16 node | 16 vote | zeros | u32 crc32. Node and vote are the first bytes
 * of the SHA-256 of their texts, which have any length; no vote is zeros.
 */

import { createHash } from "node:crypto";
import { type FileHandle, open } from "node:fs/promises";
import { crc32 } from "node:zlib";
import { codeOf } from "../storage-error.ts";
import { readU64, writeU64 } from "./log-records.ts";

interface GuardFacts {
  /** Number of the batch with these facts. */
  readonly sequence: number;
  readonly epoch: number;
  readonly term: number;
  readonly vote: string | undefined;
  readonly lastIndex: number;
  readonly lastTerm: number;
  readonly lastChain: Uint8Array;
  readonly snapshotIndex: number;
}

export interface GuardIdentity {
  readonly nodeId: string;
  readonly storageId: string;
}

export interface GuardFile {
  /** Writes the facts, which are durable once resolved. One call may run at a time. */
  write(facts: GuardFacts): Promise<void>;
  close(): Promise<void>;
}

/** Content of a slot, with texts as digests. */
export interface GuardSlot {
  readonly serial: number;
  readonly sequence: number;
  readonly epoch: number;
  readonly term: number;
  readonly lastIndex: number;
  readonly lastTerm: number;
  readonly snapshotIndex: number;
  readonly lastChain: Buffer;
  readonly storageId: string;
  readonly node: string;
  readonly vote: string;
}

export type GuardReading =
  | { readonly kind: "missing" }
  | { readonly kind: "unreadable" }
  | { readonly kind: "read"; readonly slot: GuardSlot };

const MAGIC = Buffer.from("GWGUARD1", "latin1");
const SLOT_BYTES = 512;
/** Larger than a disk sector, so that a write to one slot cannot damage the other. */
const PAGE_BYTES = 4096;
const DIGEST_BYTES = 16;

/** Returns the digest of a text as 32 hex digits; zeros for `undefined`. */
export function guardDigest(text: string | undefined): string {
  if (text === undefined) return "0".repeat(2 * DIGEST_BYTES);
  return createHash("sha256")
    .update(text)
    .digest("hex")
    .slice(0, 2 * DIGEST_BYTES);
}

export async function readGuard(file: string): Promise<GuardReading> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(file, "r");
    const bytes = Buffer.alloc(2 * PAGE_BYTES);
    const { bytesRead } = await handle.read(bytes, 0, bytes.length, 0);
    const slots = [0, PAGE_BYTES]
      .filter((at) => at + SLOT_BYTES <= bytesRead)
      .flatMap((at) => decodeSlot(bytes.subarray(at, at + SLOT_BYTES)) ?? []);
    const slot = slots.reduce<GuardSlot | undefined>(
      (newest, each) => (newest === undefined || each.serial > newest.serial ? each : newest),
      undefined,
    );
    return slot === undefined ? { kind: "unreadable" } : { kind: "read", slot };
  } catch (error) {
    if (codeOf(error) === "ENOENT") return { kind: "missing" };
    throw error;
  } finally {
    await handle?.close();
  }
}

/**
 * Opens the guard for writing after it was read, or creates it. `serial`: serial of the slot that was read, 0 for none. The
 * caller syncs the directory after a creation.
 */
export async function openGuard(file: string, identity: GuardIdentity, serial: number): Promise<GuardFile> {
  const handle = await open(file, serial === 0 ? "w+" : "r+", 0o600);
  let next = serial + 1;
  return {
    async write(facts) {
      const slot = encodeSlot(facts, identity, next);
      // Writes whole pages, so that a slot's page never contains anything but the slot.
      const page = Buffer.alloc(PAGE_BYTES);
      slot.copy(page);
      await handle.write(page, 0, PAGE_BYTES, (next % 2) * PAGE_BYTES);
      await handle.datasync();
      next += 1;
    },
    close: () => handle.close(),
  };
}

function encodeSlot(facts: GuardFacts, identity: GuardIdentity, serial: number): Buffer {
  const slot = Buffer.alloc(SLOT_BYTES);
  MAGIC.copy(slot);
  const numbers = [
    serial,
    facts.sequence,
    facts.epoch,
    facts.term,
    facts.lastIndex,
    facts.lastTerm,
    facts.snapshotIndex,
  ];
  numbers.forEach((number, at) => {
    writeU64(slot, number, 8 + 8 * at);
  });
  slot.set(facts.lastChain, 64);
  slot.write(identity.storageId, 80, DIGEST_BYTES, "hex");
  slot.write(guardDigest(identity.nodeId), 96, DIGEST_BYTES, "hex");
  slot.write(guardDigest(facts.vote), 112, DIGEST_BYTES, "hex");
  slot.writeUInt32BE(crc32(slot.subarray(0, SLOT_BYTES - 4)), SLOT_BYTES - 4);
  return slot;
}

function decodeSlot(slot: Buffer): GuardSlot | undefined {
  if (!slot.subarray(0, 8).equals(MAGIC)) return undefined;
  if (crc32(slot.subarray(0, SLOT_BYTES - 4)) !== slot.readUInt32BE(SLOT_BYTES - 4)) return undefined;
  return {
    serial: readU64(slot, 8),
    sequence: readU64(slot, 16),
    epoch: readU64(slot, 24),
    term: readU64(slot, 32),
    lastIndex: readU64(slot, 40),
    lastTerm: readU64(slot, 48),
    snapshotIndex: readU64(slot, 56),
    lastChain: slot.subarray(64, 80),
    storageId: slot.toString("hex", 80, 96),
    node: slot.toString("hex", 96, 112),
    vote: slot.toString("hex", 112, 128),
  };
}
