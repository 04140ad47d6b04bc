/**
 * Format of the lines of `audit-head`: `crc32 | text`, with the checksum in eight hexadecimal digits. Source: cluster
 * reference, 9.2.
 *
 * The first line names the chain. Records follow in the order of emission, and between them the positions up to which
 * the output has taken them. Lines after the last acknowledged record may not have been synced, so damage there comes
 * from a crash and is cut off: none of it was emitted. Damage before it means tampering or a disk fault.
 */

import { crc32 } from "node:zlib";
import { NO_HASH } from "./audit-record.ts";
import type { AuditHead } from "./types.ts";

export interface JournalChain {
  readonly node: string;
  readonly kid: string;
  /** Chain that `chain.start` names. */
  readonly succeeds: AuditHead | null;
}

export interface JournalRecord {
  readonly seq: number;
  readonly hash: string;
  /** Line without the newline. */
  readonly line: string;
}

export interface JournalContent {
  readonly chain: JournalChain;
  /** Records in order, without gaps; at least one. */
  readonly records: readonly JournalRecord[];
  /** Sequence number of the last record that the output has taken; `undefined` if that is none of these records. */
  readonly acknowledged: number | undefined;
  /** Number of valid bytes; the rest is a torn line. */
  readonly length: number;
}

type JournalReading = ({ readonly kind: "read" } & JournalContent) | { readonly kind: "damaged"; readonly at: number };

export function journalLine(text: string): string {
  return `${crc32(text).toString(16).padStart(8, "0")} ${text}\n`;
}

export const chainLine = (chain: JournalChain): string => journalLine(JSON.stringify({ chain }));
export const acknowledgedLine = (seq: number): string => journalLine(JSON.stringify({ acknowledged: seq }));

type Line =
  | { readonly kind: "chain"; readonly chain: JournalChain }
  | ({ readonly kind: "record"; readonly kid: string; readonly prev: string } & JournalRecord)
  | { readonly kind: "acknowledged"; readonly seq: number };

export function readJournal(bytes: Buffer): JournalReading {
  let chain: JournalChain | undefined;
  const records: JournalRecord[] = [];
  let acknowledged: number | undefined;
  let at = 0;
  while (at < bytes.length) {
    const end = bytes.indexOf(10, at);
    const line = end < 0 ? undefined : readLine(bytes.toString("utf8", at, end));
    if (line === undefined || end < 0) break;
    if (line.kind === "chain") {
      if (at > 0) return { kind: "damaged", at };
      chain = line.chain;
    } else if (chain === undefined) {
      return { kind: "damaged", at };
    } else if (line.kind === "acknowledged") {
      acknowledged = Math.max(line.seq, acknowledged ?? 0);
    } else {
      const { kid, prev, seq, hash, line: text } = line;
      const last = records.at(-1);
      const isNext =
        last === undefined ? (seq === 0) === (prev === NO_HASH) : seq === last.seq + 1 && prev === last.hash;
      if (!isNext || kid !== chain.kid) return { kind: "damaged", at };
      records.push({ seq, hash, line: text });
    }
    at = end + 1;
  }
  const last = records.at(-1);
  // A file gets its final name only after its first line and a record were written, so a missing one means damage.
  if (chain === undefined || last === undefined) return { kind: "damaged", at };
  if (isAcknowledgedLater(bytes, at, last.seq)) return { kind: "damaged", at };
  return { kind: "read", chain, records, acknowledged, length: at };
}

/** Returns whether the bytes after the damage at `from` acknowledge a record after `seq`. */
function isAcknowledgedLater(bytes: Buffer, from: number, seq: number): boolean {
  for (let at = bytes.indexOf(10, from) + 1; at > 0; at = bytes.indexOf(10, at) + 1) {
    const end = bytes.indexOf(10, at);
    const line = end < 0 ? undefined : readLine(bytes.toString("utf8", at, end));
    if (line?.kind === "acknowledged" && line.seq > seq) return true;
  }
  return false;
}

function readLine(line: string): Line | undefined {
  const text = line.slice(9);
  if (line[8] !== " " || line.slice(0, 8) !== crc32(text).toString(16).padStart(8, "0")) return undefined;
  try {
    return parseLine(text, JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** Parses a line of this file. A line with a valid checksum was written by this program. */
function parseLine(text: string, value: unknown): Line | undefined {
  const members = value as { chain?: JournalChain; acknowledged?: number; audit?: number } & Omit<
    JournalRecord,
    "line"
  > & {
      kid: string;
      prev: string;
    };
  if (members.audit === 1) {
    const { seq, hash, kid, prev } = members;
    return { kind: "record", seq, hash, kid, prev, line: text };
  }
  if (typeof members.acknowledged === "number") return { kind: "acknowledged", seq: members.acknowledged };
  return typeof members.chain?.kid === "string" ? { kind: "chain", chain: members.chain } : undefined;
}
