/**
 * Receives the records of one worker. The worker gets credit before it makes records, and each record is acknowledged once it was
 * handed to the thread that writes it.
 */
import { type AuditQueue, type FedRecords, openCredit, RECORD_OVERHEAD_BYTES } from "../../audit/index.ts";
import type { Channel } from "../channel/index.ts";
import type { RecordSummary, SentRecord } from "./intake-protocol.ts";

/** Maximum credit of all workers together, in bytes. The rest of the queue is for the node's own records. */
const MAX_TOTAL_CREDIT_BYTES = 32 << 20;
/** Maximum credit of one worker, in bytes: enough for some thousand records, more than are made during one round trip. */
const MAX_CREDIT_BYTES = 2 << 20;
const RETRY_MS = 20;
/** Minimum time between two syncs, in milliseconds. A hundred syncs a second leave disk capacity for the raft log. */
const GROUP_MS = 10;
const GROUP_RECORDS = 256;

interface ReceiveOptions {
  readonly queue: AuditQueue;
  /** Number of workers that share the queue. */
  readonly workers: number;
  /** Receives a group of records in order. */
  onRecords(records: FedRecords, summaries: readonly RecordSummary[]): void;
}

/** Receives records. Returns a function that must be called when all of the worker's output was read. */
export function receiveRecords(channel: Channel, { queue, workers, onRecords }: ReceiveOptions): () => void {
  const maxCreditBytes = Math.min(MAX_CREDIT_BYTES, Math.floor(MAX_TOTAL_CREDIT_BYTES / workers));
  const credit = openCredit(queue);
  let grantedBytes = 0;
  let usedBytes = 0;
  let acknowledged = 0;
  let group: SentRecord[] = [];
  let groupTimer: NodeJS.Timeout | undefined;
  let timer: NodeJS.Timeout | undefined;
  /** Grants credit in quarters of the maximum, so that not every record costs a message. */
  const grantCredit = (): void => {
    const moreBytes = maxCreditBytes - (grantedBytes - usedBytes);
    if (moreBytes < maxCreditBytes / 4) return;
    if (credit.grant(moreBytes)) {
      grantedBytes += moreBytes;
      channel.send("audit.credit", grantedBytes);
    } else timer ??= setTimeout(retryGrant, RETRY_MS);
  };
  const retryGrant = (): void => {
    timer = undefined;
    grantCredit();
  };
  const flush = (): void => {
    clearTimeout(groupTimer);
    groupTimer = undefined;
    if (group.length === 0) return;
    const all = group;
    group = [];
    const feed = { texts: all.map(([, text]) => text), times: all.map(([, , at]) => at) };
    const recorded = all.map(([event, , at, controls]) => ({ event, controls, at }));
    onRecords(feed, recorded);
    acknowledged += all.length;
    channel.send("audit.taken", acknowledged, true);
  };
  channel.on("audit", (body) => {
    const sent = body as SentRecord;
    const bytes = sent[1].length + RECORD_OVERHEAD_BYTES;
    usedBytes += bytes;
    credit.consume(bytes);
    group.push(sent);
    if (group.length === GROUP_RECORDS) flush();
    else groupTimer ??= setTimeout(flush, GROUP_MS);
    grantCredit();
  });
  grantCredit();
  return () => {
    clearTimeout(timer);
    flush();
    credit.close();
  };
}
