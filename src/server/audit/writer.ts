/**
 * What the audit worker does: events in, signed records out, in the order journal, output, acknowledgement.
 *
 * Events are gathered for `GROUP_MS` or up to `GROUP_RECORDS`, signed, and made durable by one sync; a group that
 * somebody waits for is not held up, and what comes during a sync is the next group. Then they are
 * told to be journaled, and wait for the output. Journaling does not wait for the output: when nobody reads, the journal
 * takes what the queue holds, and the next start emits it. Source: cluster reference, 9.2.
 */

import type { JournalRecord } from "./journal-format.ts";
import { type OpenChain, openChain } from "./open-chain.ts";
import { openOutput } from "./output.ts";
import type { AuditEvent, AuditHead } from "./types.ts";
import type { FromWorker, StartOptions } from "./worker-protocol.ts";

/** A hundred syncs a second leave the disk to the raft log. */
const GROUP_MS = 10;
const GROUP_RECORDS = 256;

/** Emitted at once; what a start finds in the journal may be many times as much, and the main thread is told of it in parts. */
const PASS_RECORDS = 512;

/** A reader that is behind is asked again soon, one that has stopped seldom. */
const FIRST_RETRY_MS = 2;
const LAST_RETRY_MS = 100;

export interface Writer {
  append(texts: readonly string[], times: readonly number[], isAwaited: boolean): void;
  /** Resolves with the number of records that the output has not taken; they are in the journal, if there is one. */
  close(at: number, limitMs: number): Promise<number>;
}

interface Waiting extends JournalRecord {
  readonly kid: string;
  /** Length of the event's text; undefined for what the trail says of itself. */
  readonly units: number | undefined;
}

/** Rejects with an `AuditError`. A failure later is told by `fail`, once, and nothing is written after it. */
export async function openWriter(
  options: StartOptions,
  tell: (message: FromWorker) => void,
  fail: (error: unknown) => void,
): Promise<Writer> {
  const opened = await openChain(options);
  const { chain, journal, lock, recent, succeeds, warnings } = opened;
  const output = openOutput(options.fd);
  const inbox: { readonly text: string; readonly at: number }[] = [];
  let groupTimer: NodeJS.Timeout | undefined;
  let outbox: Waiting[] = waitingOf(opened);
  let retryTimer: NodeJS.Timeout | undefined;
  let retryMs = FIRST_RETRY_MS;
  let journaledEvents = 0;
  let isBlockTold = false;
  /** Failed, or closed. */
  let isOver = false;
  let drained: (() => void) | undefined;

  // An earlier process may have died within a line.
  if (outbox.length > 1) output.breakLine();

  /** Any fault ends the trail: what comes after it could not be linked to what is on the disk. */
  function guarded(action: () => void): void {
    if (isOver) return;
    try {
      action();
    } catch (error) {
      isOver = true;
      clearTimeout(groupTimer);
      clearTimeout(retryTimer);
      fail(error);
      drained?.();
    }
  }

  function flush(): void {
    clearTimeout(groupTimer);
    groupTimer = undefined;
    const group = inbox.splice(0, GROUP_RECORDS);
    if (group.length === 0) return;
    const startedAt = performance.now();
    const records = group.map(({ text, at }) => ({ ...sealed(parseEvent(text), at), units: text.length }));
    journal?.append(records);
    outbox.push(...records);
    journaledEvents += group.length;
    tell({ kind: "journaled", events: journaledEvents, seconds: (performance.now() - startedAt) / 1_000 });
    if (inbox.length > 0) scheduleFlush();
    if (retryTimer === undefined) pump();
  }

  function sealed(event: AuditEvent, at: number): JournalRecord & { readonly kid: string } {
    const record = chain.next(event, at);
    return { ...record, kid: chain.kid };
  }

  function scheduleFlush(isAwaited = false): void {
    if (isAwaited || inbox.length >= GROUP_RECORDS) setImmediate(() => guarded(flush));
    else groupTimer ??= setTimeout(() => guarded(flush), GROUP_MS);
  }

  function pump(): void {
    clearTimeout(retryTimer);
    retryTimer = undefined;
    const pass = outbox.slice(0, PASS_RECORDS);
    const outcome = output.write(pass);
    const out = outcome.kind === "blocked" ? outcome.count : pass.length;
    if (out > 0) {
      emitted(pass.slice(0, out), outcome.kind === "gone" ? outcome.code : undefined);
      outbox = outbox.slice(out);
      retryMs = FIRST_RETRY_MS;
      isBlockTold = false;
    }
    if (outcome.kind !== "blocked") {
      if (outbox.length === 0) drained?.();
      else retryTimer = setTimeout(() => guarded(pump), 0);
      return;
    }
    if (retryMs === LAST_RETRY_MS && !isBlockTold) {
      isBlockTold = true;
      tell({ kind: "blocked", code: outcome.code });
    }
    retryTimer = setTimeout(() => guarded(pump), retryMs);
    retryMs = Math.min(2 * retryMs, LAST_RETRY_MS);
  }

  function emitted(records: readonly Waiting[], gone: string | undefined): void {
    const last = records.at(-1);
    if (last === undefined) return;
    const head: AuditHead = { kid: last.kid, seq: last.seq, hash: last.hash };
    if (last.kid === chain.kid) journal?.acknowledge(last.seq);
    const own = records.flatMap(({ units }) => (units === undefined ? [] : [units]));
    const units = own.reduce((sum, each) => sum + each, 0);
    tell({ kind: "emitted", lines: records.map(({ line }) => line), head, events: own.length, units, gone });
  }

  tell({ kind: "started", kid: chain.kid, succeeds, recent: recent.map(({ line }) => line), warnings });
  guarded(pump);

  return {
    append(texts, times, isAwaited) {
      if (isOver) return;
      for (const [index, text] of texts.entries()) inbox.push({ text, at: times[index] ?? 0 });
      scheduleFlush(isAwaited);
    },
    async close(at, limitMs) {
      guarded(() => {
        while (inbox.length > 0) flush();
        const pause = sealed({ event: "chain.pause", data: { pid: options.process.pid } }, at);
        journal?.append([pause]);
        outbox.push({ ...pause, units: undefined });
        if (retryTimer === undefined) pump();
      });
      if (outbox.length > 0 && !isOver) {
        let limit: NodeJS.Timeout | undefined;
        await new Promise<void>((resolve) => {
          drained = resolve;
          limit = setTimeout(resolve, limitMs);
        });
        clearTimeout(limit);
      }
      isOver = true;
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

function waitingOf({ pending }: OpenChain): Waiting[] {
  return pending.map((record) => ({ ...record, kid: kidOf(record.line), units: undefined }));
}

function kidOf(line: string): string {
  return (JSON.parse(line) as { readonly kid: string }).kid;
}

/** The main thread made it from an event. */
function parseEvent(text: string): AuditEvent {
  return JSON.parse(text) as AuditEvent;
}
