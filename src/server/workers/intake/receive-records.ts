/**
 * Receives the records of one worker. The worker gets credit before it makes records, and each record is acknowledged once it was
 * handed to the thread that writes it.
 */
import { type AuditQueue, type FedRecords, openCredit, RECORD_OVERHEAD_BYTES } from "../../audit/index.ts";
import type { Channel } from "../channel/index.ts";
import type { Recorded, Sent } from "./intake-protocol.ts";

/** Maximum credit of all workers together, in bytes. The rest of the queue is for the node's own records. */
const ALL_BYTES = 32 << 20;
/** Maximum credit of one worker, in bytes: enough for some thousand records, more than are made during one round trip. */
const MAX_CREDIT_BYTES = 2 << 20;
const AGAIN_MS = 20;
/** Minimum time between two syncs, in milliseconds. A hundred syncs a second leave disk capacity for the raft log. */
const GROUP_MS = 10;
const GROUP_RECORDS = 256;

interface TakeOptions {
  readonly queue: AuditQueue;
  /** Number of workers that share the queue. */
  readonly workers: number;
  /** Receives a group of records in order. */
  fed(records: FedRecords, recorded: readonly Recorded[]): void;
}

/** Receives records. Returns a function that must be called when all of the worker's output was read. */
export function takeRecords(channel: Channel, { queue, workers, fed }: TakeOptions): () => void {
  const most = Math.min(MAX_CREDIT_BYTES, Math.floor(ALL_BYTES / workers));
  const credit = openCredit(queue);
  let given = 0;
  let used = 0;
  let taken = 0;
  let group: Sent[] = [];
  let groupTimer: NodeJS.Timeout | undefined;
  let timer: NodeJS.Timeout | undefined;
  /** Grants credit in quarters of the maximum, so that not every record costs a message. */
  const give = (): void => {
    const more = most - (given - used);
    if (more < most / 4) return;
    if (credit.lend(more)) {
      given += more;
      channel.send("audit.credit", given);
    } else timer ??= setTimeout(again, AGAIN_MS);
  };
  const again = (): void => {
    timer = undefined;
    give();
  };
  const handOn = (): void => {
    clearTimeout(groupTimer);
    groupTimer = undefined;
    if (group.length === 0) return;
    const all = group;
    group = [];
    const feed = { texts: all.map(([, text]) => text), times: all.map(([, , at]) => at) };
    const recorded = all.map(([event, , at, controls]) => ({ event, controls, at }));
    fed(feed, recorded);
    taken += all.length;
    channel.send("audit.taken", taken, true);
  };
  channel.on("audit", (body) => {
    const sent = body as Sent;
    const bytes = sent[1].length + RECORD_OVERHEAD_BYTES;
    used += bytes;
    credit.used(bytes);
    group.push(sent);
    if (group.length === GROUP_RECORDS) handOn();
    else groupTimer ??= setTimeout(handOn, GROUP_MS);
    give();
  });
  give();
  return () => {
    clearTimeout(timer);
    handOn();
    credit.close();
  };
}
