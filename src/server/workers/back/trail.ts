/**
 * The trail of decisions of a worker, against credit: the room that its records take in the queue of the node is the node's to
 * give before they are made, so that a request whose decision cannot be recorded is refused before anything of it goes
 * out. What was recorded is lost only with what its process had not yet written, a millisecond at most.
 */
import { GatewayError } from "../../../base/index.ts";
import { type AuditCredit, type AuditEventName, eventText, RECORD_OVERHEAD_BYTES } from "../../audit/index.ts";
import type { DecisionRecord } from "../../dataplane/index.ts";
import type { Channel } from "../channel/index.ts";

/** Of all workers together; the rest of the queue is for what the node itself records. */
const ALL_BYTES = 32 << 20;
/** Of one: some thousand records, more than are made while an answer of the node is under way. */
const MAX_CREDIT_BYTES = 2 << 20;
const AGAIN_MS = 20;

type Told = readonly [event: AuditEventName, text: string, at: number, controls: readonly string[]];

/** `now`: milliseconds since 1970. */
export function sendDecisions(channel: Channel, now: () => number): (record: DecisionRecord) => void {
  /** All that was ever given, and used. */
  let given = 0;
  let used = 0;
  channel.on("audit.credit", (bytes) => {
    given = Number(bytes);
  });
  return (record) => {
    const text = eventText(record);
    const bytes = text.length + RECORD_OVERHEAD_BYTES;
    if (used + bytes > given) throw new GatewayError("audit_unavailable", "The audit queue is full.");
    used += bytes;
    channel.send("audit", [record.event, text, now(), record.controls] satisfies Told);
  };
}

export interface TakenDecisions {
  readonly credit: AuditCredit;
  /** Workers that share the queue. */
  readonly workers: number;
  decided(event: AuditEventName, controls: readonly string[], at: number): void;
}

/** Takes what a worker recorded, and gives it room for more. Gives the end, for when all that it wrote was taken. */
export function takeDecisions(channel: Channel, { credit, workers, decided }: TakenDecisions): () => void {
  const most = Math.min(MAX_CREDIT_BYTES, Math.floor(ALL_BYTES / workers));
  let given = 0;
  let used = 0;
  let timer: NodeJS.Timeout | undefined;
  /** In quarters, so that a record costs no message. */
  const give = (): void => {
    const more = most - (given - used);
    if (more < most / 4) return;
    if (credit.lend(more)) {
      given += more;
      channel.send("audit.credit", given);
    } else timer ??= setTimeout(again, AGAIN_MS).unref();
  };
  const again = (): void => {
    timer = undefined;
    give();
  };
  channel.on("audit", (body) => {
    const [event, text, at, controls] = body as Told;
    used += text.length + RECORD_OVERHEAD_BYTES;
    credit.append(event, text, at);
    decided(event, controls, at);
    give();
  });
  give();
  return () => {
    clearTimeout(timer);
    timer = undefined;
    credit.close();
  };
}
