/**
 * Chain of records: each links to the previous one, and is hashed and signed, alone or with the others of its group.
 * Source: cluster reference, 9.1; design decisions, section 4.
 */

import { sign } from "node:crypto";
import { type CanonicalParts, hashOf, NO_HASH, signedLine } from "./audit-record.ts";
import { eventText, fitEvent } from "./fit-event.ts";
import { buildTree } from "./group-proof.ts";
import type { JournalRecord } from "./journal-format.ts";
import type { ChainKey } from "./key-file.ts";
import type { AuditEvent, AuditHead } from "./types.ts";

export interface Chain {
  readonly kid: string;
  /** Head after the last record. */
  readonly head: AuditHead | undefined;
  /** Appends an event of the chain itself. `at`: milliseconds since the epoch. */
  appendEvent(event: AuditEvent, at: number): JournalRecord;
  /** Appends a text that `eventText` returned. */
  appendText(text: string, at: number): JournalRecord;
  /** Appends up to `MAX_GROUP` records that share one signature; a single record has its own. */
  appendGroup(events: readonly ChainEvent[]): readonly JournalRecord[];
}

interface ChainEvent {
  /** Result of `eventText`. */
  readonly text: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

interface UnsignedRecord {
  readonly seq: number;
  readonly parts: CanonicalParts;
  readonly digest: Buffer;
  readonly hash: string;
}

/** Creates a chain. `last`: record after which it continues; `undefined` for a new chain. */
export function createChain(
  node: string,
  key: ChainKey,
  last: { readonly seq: number; readonly hash: string } | undefined,
): Chain {
  const { kid, privateKey } = key;
  let seq = last?.seq ?? -1;
  let prev = last?.hash ?? NO_HASH;
  // Many records have the same millisecond, so its text is cached.
  let time = 0;
  let ts = timeOf(time);

  /** Creates the next record, and computes its hash. */
  function createNext({ text, at }: ChainEvent): UnsignedRecord {
    if (at !== time) {
      time = at;
      ts = timeOf(at);
    }
    const parts = fitEvent(text, { node, kid, seq: seq + 1, prev, ts });
    const digest = hashOf(parts);
    seq += 1;
    prev = digest.toString("base64url");
    return { seq, parts, digest, hash: prev };
  }

  function withSignature({ seq: of, parts, hash }: UnsignedRecord, sig: string, proof?: string): JournalRecord {
    return { seq: of, hash, line: signedLine(parts, hash, sig, proof) };
  }

  const signatureOf = (bytes: Buffer): string => sign(null, bytes, privateKey).toString("base64url");

  function appendText(text: string, at: number): JournalRecord {
    const record = createNext({ text, at });
    return withSignature(record, signatureOf(record.digest));
  }

  function appendGroup(events: readonly ChainEvent[]): readonly JournalRecord[] {
    const [first] = events;
    if (first === undefined) return [];
    if (events.length === 1) return [appendText(first.text, first.at)];
    const records = events.map(createNext);
    const tree = buildTree(records.map(({ digest }) => digest));
    const sig = signatureOf(tree.signedBytes);
    return records.map((record, index) => withSignature(record, sig, tree.proofOf(index)));
  }

  return {
    kid,
    get head() {
      return seq < 0 ? undefined : { kid, seq, hash: prev };
    },
    appendEvent: (event, at) => appendText(eventText(event), at),
    appendText,
    appendGroup,
  };
}

/** Formats a time in RFC 3339, UTC, with milliseconds. */
function timeOf(at: number): string {
  return new Date(Number.isFinite(at) ? Math.min(Math.max(at, 0), MAX_TIME) : 0).toISOString();
}

/** Latest time that can be written: the last millisecond whose year has four digits. */
const MAX_TIME = Date.UTC(9999, 11, 31, 23, 59, 59, 999);
