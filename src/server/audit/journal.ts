/**
 * Journal file `audit-head`: records that were signed and may not have been emitted. A group of records is on disk
 * before any of it is emitted, and is acknowledged after emission, so a crash neither leaves a gap nor uses a number
 * twice. Source: cluster reference, 9.2.
 *
 * Above `ROTATE_BYTES` the file is rewritten with the last records, which the search for forks needs.
 */

import { closeSync, fdatasyncSync, fsyncSync, ftruncateSync, openSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { AuditError, unwritable } from "./audit-error.ts";
import { readIfPresent, replaceFile, syncDirectory, UNFINISHED_SUFFIX, writeFully } from "./durable-files.ts";
import {
  acknowledgedLine,
  chainLine,
  type JournalChain,
  type JournalContent,
  type JournalRecord,
  journalLine,
  readJournal,
} from "./journal-format.ts";

export const JOURNAL_FILE = "audit-head";

/** Name of a journal that was replaced because it was behind the head that the cluster has witnessed. Nothing reads it. */
const SUPERSEDED_FILE = "audit-head.superseded";

const ROTATE_BYTES = 1 << 20;
const KEPT_RECORDS = 256;

/** Maximum size: twice the total of a full queue and of what a blocked output leaves. */
const MAX_JOURNAL_BYTES = 256 << 20;

export interface Journal {
  /**
   * Appends records, which are on disk when this returns. A throw ends the journal, since the file may end anywhere in
   * the group.
   */
  append(records: readonly JournalRecord[]): void;
  /**
   * Notes that the output has taken every record up to this one. Not synced, since a record that is emitted twice
   * counts once.
   */
  acknowledge(seq: number): void;
  close(): void;
}

/** Reads the journal. Returns `undefined` if there is none. Throws an `AuditError` if it cannot be continued. */
export function loadJournal(dir: string): JournalContent | undefined {
  const path = join(dir, JOURNAL_FILE);
  let bytes: Buffer | undefined;
  try {
    rmSync(`${path}${UNFINISHED_SUFFIX}`, { force: true });
    bytes = readIfPresent(path, MAX_JOURNAL_BYTES);
  } catch (cause) {
    throw unwritable(path, cause);
  }
  if (bytes === undefined) return undefined;
  const reading = readJournal(bytes);
  if (reading.kind === "read") return reading;
  throw new AuditError(
    "damaged",
    `the audit journal ${path} is damaged at byte ${reading.at}: restore the whole directory, or remove audit-head to ` +
      "begin a new chain, which names the last record that the cluster has stored",
  );
}

/** Creates the journal of a new chain with its first records, which are on disk when this returns. */
export function createJournal(dir: string, chain: JournalChain, first: readonly JournalRecord[]): Journal {
  return openJournal(join(dir, JOURNAL_FILE), chain, first, undefined);
}

/** Continues the journal that `loadJournal` returned. A torn end is cut off. */
export function continueJournal(dir: string, content: JournalContent): Journal {
  return openJournal(join(dir, JOURNAL_FILE), content.chain, content.records, content);
}

/** Renames the journal, so that a new chain can begin and the old file can still be examined. */
export function supersedeJournal(dir: string): void {
  try {
    renameSync(join(dir, JOURNAL_FILE), join(dir, SUPERSEDED_FILE));
    syncDirectory(dir);
  } catch (cause) {
    throw unwritable(join(dir, JOURNAL_FILE), cause);
  }
}

/** Group of records as bytes, which the garbage collector does not have to traverse. */
interface Group {
  /** Sequence number of the last record. */
  readonly last: number;
  readonly count: number;
  readonly bytes: Buffer;
}

function groupOf(records: readonly JournalRecord[]): Group {
  const bytes = Buffer.from(records.map(({ line }) => journalLine(line)).join(""));
  return { last: records.at(-1)?.seq ?? -1, count: records.length, bytes };
}

function openJournal(
  path: string,
  chain: JournalChain,
  first: readonly JournalRecord[],
  found: JournalContent | undefined,
): Journal {
  let kept = first.map((record) => groupOf([record]));
  let acknowledged = found?.acknowledged;
  const state = withAuditError(() => (found === undefined ? rewrite() : truncate(found.length)));
  let { fd, length } = state;
  let lengthAfterRewrite = found === undefined ? length : 0;

  function withAuditError<Result>(action: () => Result): Result {
    try {
      return action();
    } catch (cause) {
      throw unwritable(path, cause);
    }
  }

  function truncate(to: number): { fd: number; length: number } {
    const opened = openSync(path, "r+");
    ftruncateSync(opened, to);
    fsyncSync(opened);
    closeSync(opened);
    syncDirectory(dirname(path));
    return { fd: openSync(path, "a"), length: to };
  }

  /** Rewrites the journal with all records that are not acknowledged, and at least the last `KEPT_RECORDS`. */
  function rewrite(): { fd: number; length: number } {
    let from = kept.length;
    for (let count = 0; from > 0; from -= 1) {
      const group = kept[from - 1];
      if (group === undefined || (count >= KEPT_RECORDS && group.last <= (acknowledged ?? -1))) break;
      count += group.count;
    }
    kept = kept.slice(from);
    const end = acknowledged === undefined ? "" : acknowledgedLine(acknowledged);
    const bytes = Buffer.concat([Buffer.from(chainLine(chain)), ...kept.map((group) => group.bytes), Buffer.from(end)]);
    return { fd: replaceFile(path, bytes), length: bytes.length };
  }

  return {
    append(records) {
      withAuditError(() => {
        const group = groupOf(records);
        writeFully(fd, group.bytes);
        fdatasyncSync(fd);
        length += group.bytes.length;
        kept.push(group);
      });
    },
    acknowledge(seq) {
      withAuditError(() => {
        acknowledged = seq;
        const bytes = Buffer.from(acknowledgedLine(seq));
        writeFully(fd, bytes);
        length += bytes.length;
        // The next rewrite waits for twice the size after the last one: records that a slow output leaves stay in the file.
        if (length <= Math.max(ROTATE_BYTES, 2 * lengthAfterRewrite)) return;
        const before = fd;
        ({ fd, length } = rewrite());
        lengthAfterRewrite = length;
        closeSync(before);
      });
    },
    close() {
      withAuditError(() => {
        fdatasyncSync(fd);
        closeSync(fd);
      });
    },
  };
}
