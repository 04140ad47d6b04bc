/**
 * Core of the audit worker: turns events into signed records, writes them to the journal, then to the output, and
 * acknowledges them.
 *
 * Events that arrive in one turn or during a sync form one group, with one signature and one sync. Then they are
 * reported as journaled and wait for the output. Journaling does not wait for the output: if nobody reads it, the
 * journal takes all that the queue holds, and the next start emits it. Source: cluster reference, 9.2.
 */

import type { FromWorker, RecordLines, StartOptions } from "./audit-worker-protocol.ts";
import { MAX_GROUP } from "./group-proof.ts";
import type { JournalRecord } from "./journal-format.ts";
import { openChain } from "./open-chain.ts";
import { openOutput } from "./output.ts";
import { isChange } from "./recent-records.ts";
import type { AuditHead } from "./types.ts";

/**
 * Maximum number of records emitted at once. A start may find many times as many in the journal, and reports them to
 * the main thread in parts.
 */
const BATCH_RECORDS = 512;

/** First and longest retry delay for a blocked output, in milliseconds. A slow reader needs a short one, a stopped one a long one. */
const FIRST_RETRY_MS = 2;
const MAX_RETRY_MS = 100;

export interface AuditWriter {
  /** Appends events. `isCounted`: true for events of the main thread, which are reported back as journaled. */
  append(texts: readonly string[], times: readonly number[], isCounted: boolean): void;
  /**
   * Closes the writer. Resolves with the number of records that the output has not taken; they are in the journal, if
   * there is one.
   */
  close(at: number, timeoutMs: number): Promise<number>;
}

interface WaitingRecord extends JournalRecord {
  readonly kid: string;
  /** Length of the event's text; `undefined` for events of the trail itself. */
  readonly units: number | undefined;
}

/**
 * Opens the writer. Rejects with an `AuditError`. A later failure is reported by `fail`, once, and nothing is written after it.
 */
export async function openWriter(
  options: StartOptions,
  post: (message: FromWorker) => void,
  onFailure: (error: unknown) => void,
): Promise<AuditWriter> {
  const opened = await openChain(options);
  const { chain, journal, lock, recent, succeeds, warnings } = opened;
  const output = openOutput(options.fd);
  const inbox: { readonly text: string; readonly at: number; readonly isCounted: boolean }[] = [];
  let isFlushDue = false;
  let outbox = opened.pending.map((record) => toWaiting(record, kidOf(record.line), undefined));
  let retryTimer: NodeJS.Timeout | undefined;
  let retryMs = FIRST_RETRY_MS;
  let journaledEvents = 0;
  let isBlockLogged = false;
  /** True after a failure or the close. */
  let isClosed = false;
  let onDrained: (() => void) | undefined;

  // An earlier process may have died in the middle of a line.
  if (outbox.length > 1) output.startNewLine();

  /** Runs an action. Any error ends the trail, since later records could not be linked to what is on disk. */
  function runOrFail(action: () => void): void {
    if (isClosed) return;
    try {
      action();
    } catch (error) {
      isClosed = true;
      clearTimeout(retryTimer);
      onFailure(error);
      onDrained?.();
    }
  }

  function flush(): void {
    isFlushDue = false;
    const group = inbox.splice(0, MAX_GROUP);
    if (group.length === 0) return;
    const startedAt = performance.now();
    const records = chain.appendGroup(group).map((record, at) => toWaiting(record, chain.kid, group[at]?.text.length));
    journal?.append(records);
    outbox.push(...records);
    journaledEvents += group.filter(({ isCounted }) => isCounted).length;
    post({ kind: "journaled", events: journaledEvents, seconds: (performance.now() - startedAt) / 1_000 });
    if (inbox.length > 0) scheduleFlush();
    if (retryTimer === undefined) writeOutbox();
  }

  function scheduleFlush(): void {
    if (!isFlushDue) setImmediate(() => runOrFail(flush));
    isFlushDue = true;
  }

  function writeOutbox(): void {
    clearTimeout(retryTimer);
    retryTimer = undefined;
    const batch = outbox.slice(0, BATCH_RECORDS);
    const outcome = output.write(batch);
    const writtenCount = outcome.kind === "blocked" ? outcome.count : batch.length;
    if (writtenCount > 0) {
      reportEmitted(batch.slice(0, writtenCount), outcome.kind === "gone" ? outcome.code : undefined);
      outbox = outbox.slice(writtenCount);
      retryMs = FIRST_RETRY_MS;
      isBlockLogged = false;
    }
    if (outcome.kind !== "blocked") {
      if (outbox.length === 0) onDrained?.();
      else retryTimer = setTimeout(() => runOrFail(writeOutbox), 0);
      return;
    }
    if (retryMs === MAX_RETRY_MS && !isBlockLogged) {
      isBlockLogged = true;
      post({ kind: "blocked", code: outcome.code });
    }
    retryTimer = setTimeout(() => runOrFail(writeOutbox), retryMs);
    retryMs = Math.min(2 * retryMs, MAX_RETRY_MS);
  }

  function reportEmitted(records: readonly WaitingRecord[], goneCode: string | undefined): void {
    const last = records.at(-1);
    if (last === undefined) return;
    const head: AuditHead = { kid: last.kid, seq: last.seq, hash: last.hash };
    if (last.kid === chain.kid) journal?.acknowledge(last.seq);
    const own = records.filter(({ units }) => units !== undefined);
    const units = own.reduce((sum, each) => sum + (each.units ?? 0), 0);
    post({ kind: "emitted", records: linesOf(records), head, events: own.length, units, goneCode });
  }

  post({ kind: "started", kid: chain.kid, succeeds, recent: linesOf(recent), warnings });
  runOrFail(writeOutbox);

  return {
    append(texts, times, isCounted) {
      if (isClosed) return;
      for (const [index, text] of texts.entries()) inbox.push({ text, at: times[index] ?? 0, isCounted });
      scheduleFlush();
    },
    async close(at, timeoutMs) {
      runOrFail(() => {
        while (inbox.length > 0) flush();
        const pause = chain.appendEvent({ event: "chain.pause", data: { pid: options.process.pid } }, at);
        journal?.append([pause]);
        outbox.push(toWaiting(pause, chain.kid, undefined));
        if (retryTimer === undefined) writeOutbox();
      });
      if (outbox.length > 0 && !isClosed) {
        let limit: NodeJS.Timeout | undefined;
        await new Promise<void>((resolve) => {
          onDrained = resolve;
          limit = setTimeout(resolve, timeoutMs);
        });
        clearTimeout(limit);
      }
      isClosed = true;
      clearTimeout(retryTimer);
      output.close();
      try {
        journal?.close();
      } finally {
        await lock?.release();
      }
      return outbox.length;
    },
  };
}

function toWaiting({ seq, hash, line }: JournalRecord, kid: string, units: number | undefined): WaitingRecord {
  return { seq, hash, line, kid, units };
}

/** Joins lines into one text for the transfer to the main thread, where each line would otherwise be a separate object. */
function linesOf(records: readonly JournalRecord[]): RecordLines {
  const changeIndices = records.flatMap(({ line }, position) => (isChange(line) ? [position] : []));
  return { text: records.map(({ line }) => line).join("\n"), count: records.length, changeIndices };
}

function kidOf(line: string): string {
  return (JSON.parse(line) as { readonly kid: string }).kid;
}
