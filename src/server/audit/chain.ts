/** A chain being written: each record links to the one before, is hashed and signed. Source: cluster reference, 9.1. */

import { sign } from "node:crypto";
import { eventText, fitEvent } from "./fit-event.ts";
import type { JournalRecord } from "./journal-format.ts";
import type { ChainKey } from "./key-file.ts";
import { hashOf, NO_HASH, sealedLine } from "./record.ts";
import type { AuditEvent, AuditHead } from "./types.ts";

export interface Chain {
  readonly kid: string;
  /** Of the last record. */
  readonly head: AuditHead | undefined;
  /** Of what the chain says of itself. `at`: milliseconds since the epoch. */
  next(event: AuditEvent, at: number): JournalRecord;
  /** Of what `eventText` gave. */
  nextOf(text: string, at: number): JournalRecord;
}

/** `last`: the record after which the chain goes on; undefined for a new one. */
export function createChain(
  node: string,
  key: ChainKey,
  last: { readonly seq: number; readonly hash: string } | undefined,
): Chain {
  const { kid, privateKey } = key;
  let seq = last?.seq ?? -1;
  let prev = last?.hash ?? NO_HASH;
  // Many records are of the same millisecond.
  let time = 0;
  let ts = timeOf(time);

  function nextOf(text: string, at: number): JournalRecord {
    if (at !== time) {
      time = at;
      ts = timeOf(at);
    }
    const parts = fitEvent(text, { node, kid, seq: seq + 1, prev, ts });
    const digest = hashOf(parts);
    const hash = digest.toString("base64url");
    const line = sealedLine(parts, hash, sign(null, digest, privateKey).toString("base64url"));
    seq += 1;
    prev = hash;
    return { seq, hash, line };
  }

  return {
    kid,
    get head() {
      return seq < 0 ? undefined : { kid, seq, hash: prev };
    },
    next: (event, at) => nextOf(eventText(event), at),
    nextOf,
  };
}

/** RFC 3339, UTC, milliseconds. */
function timeOf(at: number): string {
  return new Date(Number.isFinite(at) ? Math.min(Math.max(at, 0), MAX_TIME) : 0).toISOString();
}

/** The last millisecond whose year has four digits. */
const MAX_TIME = Date.UTC(9999, 11, 31, 23, 59, 59, 999);
