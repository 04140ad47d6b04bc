/** The last emitted records, as text until somebody asks. */

import type { AuditRecord } from "./types.ts";
import type { RecordLines } from "./worker-protocol.ts";

export const KEPT_RECORDS = 1_000;

export interface Recent {
  add(records: RecordLines): void;
  /** Newest last. */
  last(limit: number): readonly AuditRecord[];
}

export function createRecent(): Recent {
  const groups: RecordLines[] = [];
  let count = 0;
  return {
    add(records) {
      groups.push(records);
      count += records.count;
      for (let first = groups[0]; first !== undefined && count - first.count >= KEPT_RECORDS; first = groups[0]) {
        groups.shift();
        count -= first.count;
      }
    },
    last(limit) {
      const wanted = Math.min(Math.max(Math.trunc(limit), 0), KEPT_RECORDS, count);
      const lines = groups.flatMap(linesOf);
      return lines.slice(lines.length - wanted).map(parseRecord);
    },
  };
}

export function parseRecords(records: RecordLines): readonly AuditRecord[] {
  return linesOf(records).map(parseRecord);
}

function linesOf({ text }: RecordLines): readonly string[] {
  return text === "" ? [] : text.split("\n");
}

/** A line that this program has written. */
function parseRecord(line: string): AuditRecord {
  return JSON.parse(line) as AuditRecord;
}
