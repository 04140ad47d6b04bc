/** The last emitted records, as lines until somebody asks. */

import type { AuditRecord } from "./types.ts";

export const KEPT_RECORDS = 1_000;

export interface Recent {
  add(lines: readonly string[]): void;
  /** Newest last. */
  last(limit: number): readonly AuditRecord[];
}

export function createRecent(): Recent {
  let lines: string[] = [];
  return {
    add(more) {
      lines.push(...more.slice(-KEPT_RECORDS));
      // Cut in strides, so that a record costs no shift of all the others.
      if (lines.length > 2 * KEPT_RECORDS) lines = lines.slice(-KEPT_RECORDS);
    },
    last(limit) {
      const count = Math.min(Math.max(Math.trunc(limit), 0), KEPT_RECORDS, lines.length);
      return lines.slice(lines.length - count).map(parseRecord);
    },
  };
}

/** A line that this program has written. */
export function parseRecord(line: string): AuditRecord {
  return JSON.parse(line) as AuditRecord;
}
