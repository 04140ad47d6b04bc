/**
 * `audit-head`: what was signed and may not be out yet. A group of records is on disk before any of it is emitted, and
 * the acknowledged position follows what was emitted; so a crash neither leaves a hole nor uses a number twice. Source:
 * cluster reference, 9.2.
 *
 * Over `ROTATE_BYTES` it is written anew with the last records, in which whoever looks for a fork finds the last ones.
 */

import { closeSync, fdatasyncSync, fsyncSync, ftruncateSync, openSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { AuditError, unwritable } from "./audit-error.ts";
import { readIfThere, replaceFile, syncDirectory, UNFINISHED, writeWhole } from "./durable.ts";
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

/** Where a journal is put aside that the cluster has seen further along than it is; nothing reads it. */
const SUPERSEDED_FILE = "audit-head.superseded";

const ROTATE_BYTES = 1 << 20;
const KEPT_RECORDS = 256;

/** What a blocked output and a full queue can make of it, and as much again. */
const MAX_JOURNAL_BYTES = 256 << 20;

export interface Journal {
  /** On disk when this returns. A throw ends the journal: the file may end anywhere in the group. */
  append(records: readonly JournalRecord[]): void;
  /** The output has taken every record up to this one. Not synced: what is emitted twice is one record. */
  acknowledge(seq: number): void;
  close(): void;
}

/** Undefined when there is none. Throws an `AuditError` for one that cannot be gone on from. */
export function loadJournal(dir: string): JournalContent | undefined {
  const path = join(dir, JOURNAL_FILE);
  let bytes: Buffer | undefined;
  try {
    rmSync(`${path}${UNFINISHED}`, { force: true });
    bytes = readIfThere(path, MAX_JOURNAL_BYTES);
  } catch (cause) {
    throw unwritable(path, cause);
  }
  if (bytes === undefined) return undefined;
  const reading = readJournal(bytes);
  if (reading.kind === "read") return reading;
  throw new AuditError(
    "damaged",
    `the audit journal ${path} is damaged at byte ${reading.at}: restore the directory whole, or remove audit-head, so ` +
      "that a new chain begins that names the last record the cluster has witnessed",
  );
}

/** The journal of a new chain, with its first records; on disk when this returns. */
export function createJournal(dir: string, chain: JournalChain, first: readonly JournalRecord[]): Journal {
  return journalOf(join(dir, JOURNAL_FILE), chain, first, undefined);
}

/** Goes on from what `loadJournal` gave; what was torn is cut off. */
export function continueJournal(dir: string, content: JournalContent): Journal {
  return journalOf(join(dir, JOURNAL_FILE), content.chain, content.records, content);
}

/** Out of the way of a new chain, and kept for whoever wants to know what happened. */
export function supersedeJournal(dir: string): void {
  try {
    renameSync(join(dir, JOURNAL_FILE), join(dir, SUPERSEDED_FILE));
    syncDirectory(dir);
  } catch (cause) {
    throw unwritable(join(dir, JOURNAL_FILE), cause);
  }
}

/** Records as the journal holds them: bytes, which the collector of garbage need not look at. */
interface Group {
  /** Sequence number of the last of them. */
  readonly last: number;
  readonly count: number;
  readonly bytes: Buffer;
}

function groupOf(records: readonly JournalRecord[]): Group {
  const bytes = Buffer.from(records.map(({ line }) => journalLine(line)).join(""));
  return { last: records.at(-1)?.seq ?? -1, count: records.length, bytes };
}

function journalOf(
  path: string,
  chain: JournalChain,
  first: readonly JournalRecord[],
  found: JournalContent | undefined,
): Journal {
  let kept = first.map((record) => groupOf([record]));
  let acknowledged = found?.acknowledged;
  const state = guarded(() => (found === undefined ? rewritten() : cut(found.length)));
  let { fd, length } = state;
  let lengthAfterRewrite = found === undefined ? length : 0;

  function guarded<Result>(action: () => Result): Result {
    try {
      return action();
    } catch (cause) {
      throw unwritable(path, cause);
    }
  }

  function cut(to: number): { fd: number; length: number } {
    const opened = openSync(path, "r+");
    ftruncateSync(opened, to);
    fsyncSync(opened);
    closeSync(opened);
    syncDirectory(dirname(path));
    return { fd: openSync(path, "a"), length: to };
  }

  /** Keeps all that is not acknowledged, and of the rest the last. */
  function rewritten(): { fd: number; length: number } {
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
      guarded(() => {
        const group = groupOf(records);
        writeWhole(fd, group.bytes);
        fdatasyncSync(fd);
        length += group.bytes.length;
        kept.push(group);
      });
    },
    acknowledge(seq) {
      guarded(() => {
        acknowledged = seq;
        const bytes = Buffer.from(acknowledgedLine(seq));
        writeWhole(fd, bytes);
        length += bytes.length;
        // Twice as long as after the last time: what a slow output leaves is not written over and over.
        if (length <= Math.max(ROTATE_BYTES, 2 * lengthAfterRewrite)) return;
        const before = fd;
        ({ fd, length } = rewritten());
        lengthAfterRewrite = length;
        closeSync(before);
      });
    },
    close() {
      guarded(() => {
        fdatasyncSync(fd);
        closeSync(fd);
      });
    },
  };
}
