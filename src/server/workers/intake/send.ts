/**
 * Audit trail of a worker. A request whose decision cannot be recorded is refused before anything of it is sent: if the node's
 * queue has no room, or if records are not acknowledged.
 */
import { once } from "node:events";
import { connect } from "node:net";
import { GatewayError } from "../../../base/index.ts";
import { eventText, RECORD_OVERHEAD_BYTES } from "../../audit/index.ts";
import type { DecisionRecord } from "../../dataplane/index.ts";
import { type Channel, openChannel } from "../channel/index.ts";
import type { IntakeAddress, Sent } from "./protocol.ts";

/** Age of a record at which the trail counts as unavailable: five checks, 250 ms. */
const LOOK_MS = 50;
const LOOKS = 5;

/** `onBroken` is that of `openChannel`. Rejects if nothing listens. */
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

/** `now` returns milliseconds since 1970. */
export function sendDecisions(channel: Channel, now: () => number): (record: DecisionRecord) => void {
  /** Total bytes of credit granted, and used. */
  let given = 0;
  let used = 0;
  /** Total records sent, and acknowledged. */
  let sent = 0;
  let taken = 0;
  /** Numbers of sent records at the last checks, the oldest first. */
  const looks = Array.from({ length: LOOKS }, () => 0);
  channel.on("audit.credit", (bytes) => {
    given = Number(bytes);
  });
  channel.on("audit.taken", (count) => {
    taken = Number(count);
  });
  // Counts checks instead of time: a process that was delayed itself reads waiting acknowledgements before its next check.
  const looking = setInterval(() => {
    looks.shift();
    looks.push(sent);
  }, LOOK_MS).unref();
  void channel.closed.then(() => clearInterval(looking));
  return (record) => {
    if (taken < (looks[0] ?? 0))
      throw new GatewayError("audit_unavailable", "The node process has not taken audit records for 250 ms.");
    const text = eventText(record);
    const bytes = text.length + RECORD_OVERHEAD_BYTES;
    if (used + bytes > given) throw new GatewayError("audit_unavailable", "The audit queue is full.");
    used += bytes;
    sent += 1;
    channel.send("audit", [record.event, text, now(), record.controls] satisfies Sent);
  };
}
