/** Recent values of `fpe` across the processes of a node: each reports to the node process, which passes them to the others. */
import { createIssuedValues, type IssuedValue, type IssuedValues } from "../../core/guardrails/index.ts";
import type { Channel } from "../../workers/index.ts";

/** Returns the recent values of a worker. Values of one turn of the event loop are sent together. */
export function shareIssuedValues(channel: Channel): IssuedValues {
  let waiting: IssuedValue[] = [];
  const issued = createIssuedValues((value) => {
    waiting.push(value);
    if (waiting.length > 1) return;
    setImmediate(() => {
      channel.send("issued", waiting);
      waiting = [];
    });
  });
  channel.on("issued", (values) => issued.addFromOtherProcess(values as readonly IssuedValue[]));
  return issued;
}

/** Passes values on in the node process; `others` are the channels of the other workers. */
export function relayIssuedValues(channel: Channel, others: () => Iterable<Channel>): void {
  channel.on("issued", (values) => {
    for (const other of others()) other.send("issued", values);
  });
}
