/**
 * The last emitted records, kept as text until they are requested. Changes and cluster events are kept separately from
 * records of single requests, which may be many per second, so that neither displaces the other.
 */

import type { AuditEventName } from "../../base/index.ts";
import type { RecordLines } from "./audit-worker-protocol.ts";
import type { AuditRecord } from "./types.ts";

/** Number of records kept of each kind. */
const KEPT_RECORDS = 1_000;

/** Events about a single request. */
const REQUEST_EVENTS: ReadonlySet<string> = new Set<AuditEventName>([
  "access.decision",
  "guardrail.decision",
  "guardrail.shadow",
  "auth.failure",
]);

const EVENT = '"event":"';

/** Returns whether a line of this program is about something other than a single request. */
export function isChange(line: string): boolean {
  // No caller-supplied text follows the event, and quotation marks in texts before it are escaped.
  const start = line.lastIndexOf(EVENT) + EVENT.length;
  return !REQUEST_EVENTS.has(line.slice(start, line.indexOf('"', start)));
}

interface RecentRecords {
  add(records: RecordLines): void;
  /** Returns the last records, newest last; with `event`, only those of that event. */
  last(limit: number, event?: AuditEventName): readonly AuditRecord[];
}

interface KeptLine {
  readonly group: number;
  readonly position: number;
  readonly line: string;
}

export function createRecentRecords(): RecentRecords {
  const groups: (RecordLines & { readonly group: number })[] = [];
  let count = 0;
  let changes: KeptLine[] = [];
  let group = 0;

  /** Returns the lines in order of emission. */
  const lines = (): readonly string[] => {
    const others = groups.flatMap((records) => {
      const changed = new Set(records.changeIndices);
      return linesOf(records).flatMap((line, position): KeptLine[] =>
        changed.has(position) ? [] : [{ group: records.group, position, line }],
      );
    });
    return [...others.slice(-KEPT_RECORDS), ...changes]
      .sort((a, b) => a.group - b.group || a.position - b.position)
      .map(({ line }) => line);
  };

  return {
    add(records) {
      group += 1;
      const others = othersIn(records);
      if (others > 0) groups.push({ ...records, group });
      count += others;
      for (let first = groups[0]; first !== undefined && count - othersIn(first) >= KEPT_RECORDS; first = groups[0]) {
        groups.shift();
        count -= othersIn(first);
      }
      if (records.changeIndices.length === 0) return;
      const all = linesOf(records);
      const added = records.changeIndices.map((position) => ({ group, position, line: all[position] ?? "" }));
      changes = [...changes, ...added].slice(-KEPT_RECORDS);
    },
    last(limit, event) {
      const wanted = Math.max(Math.trunc(limit), 0);
      if (wanted === 0) return [];
      if (event === undefined) return lines().slice(-wanted).map(parseRecord);
      return lines()
        .map(parseRecord)
        .filter((record) => record.event === event)
        .slice(-wanted);
    },
  };
}

const othersIn = ({ count, changeIndices }: RecordLines): number => count - changeIndices.length;

export function parseRecords(records: RecordLines): readonly AuditRecord[] {
  return linesOf(records).map(parseRecord);
}

function linesOf({ text }: RecordLines): readonly string[] {
  return text === "" ? [] : text.split("\n");
}

/** Parses a line that this program has written. */
function parseRecord(line: string): AuditRecord {
  return JSON.parse(line) as AuditRecord;
}
