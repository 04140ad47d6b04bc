/**
 * Sends the audit records of a worker. A request whose decision cannot be recorded is refused before any of it is sent: when the
 * node's queue has no room, or when records are not acknowledged.
 */
import { once } from "node:events";
import { connect } from "node:net";
import { GatewayError } from "../../../base/index.ts";
import { eventText, RECORD_OVERHEAD_BYTES } from "../../audit/index.ts";
import type { DecisionRecord } from "../../dataplane/index.ts";
import { type Channel, openChannel } from "../channel/index.ts";
import type { IntakeAddress, SentRecord } from "./intake-protocol.ts";

/**
 * Interval of checks, in milliseconds. The trail counts as unavailable when a record is not acknowledged for twenty checks, which
 * is one second. A thread of a busy machine may wait for a processor for some hundred milliseconds, and no request fails for that.
 */
const CHECK_MS = 50;
const MAX_MISSED_CHECKS = 20;

/** Connects to the intake thread. `onBroken`: as for `openChannel`. Rejects if nothing listens. */
export async function connectIntake(
  { path, token }: IntakeAddress,
  signal: AbortSignal,
  onBroken: (error: Error) => void,
): Promise<Channel> {
  const socket = connect(path);
  await once(socket, "connect", { signal });
  const channel = openChannel(socket, onBroken);
  channel.send("hello", token, true);
  return channel;
}

/** Returns a function that sends a record. `now` returns milliseconds since 1970. */
export function sendDecisions(channel: Channel, now: () => number): (record: DecisionRecord) => void {
  /** Total bytes of credit granted. `usedBytes` is the total used. */
  let grantedBytes = 0;
  let usedBytes = 0;
  /** Total number of records sent. `acknowledged` is the total number acknowledged. */
  let sent = 0;
  let acknowledged = 0;
  /** Numbers of sent records at the last checks, oldest first. */
  const sentAtChecks = Array.from({ length: MAX_MISSED_CHECKS }, () => 0);
  channel.on("audit.credit", (bytes) => {
    grantedBytes = Number(bytes);
  });
  channel.on("audit.taken", (count) => {
    acknowledged = Number(count);
  });
  // Checks are counted instead of time, because a process that was delayed itself reads waiting acknowledgements before its next
  // check.
  const timer = setInterval(() => {
    sentAtChecks.shift();
    sentAtChecks.push(sent);
  }, CHECK_MS).unref();
  void channel.closed.then(() => clearInterval(timer));
  return (record) => {
    if (acknowledged < (sentAtChecks[0] ?? 0))
      throw new GatewayError("audit_unavailable", "The node process has not accepted audit records for one second.");
    const text = eventText(record);
    const bytes = text.length + RECORD_OVERHEAD_BYTES;
    if (usedBytes + bytes > grantedBytes) throw new GatewayError("audit_unavailable", "The audit queue is full.");
    usedBytes += bytes;
    sent += 1;
    channel.send("audit", [record.event, text, now(), record.controls] satisfies SentRecord);
  };
}
